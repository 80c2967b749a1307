"""`branchwise export`: training data from the traces of a run folder, in the formats that TRL reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import click

from branchwise.bench.export.about import about
from branchwise.bench.export.examples import FORMATS, dpo, prm, sft
from branchwise.bench.export.runs import Run, runs
from branchwise.bench.overrides import golds_of
from branchwise.bench.report.truths import Truths
from branchwise.bench.rows import MANIFEST, read_manifest
from branchwise.cli.bench_report import keys_of
from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.text import plain, plural
from branchwise.errors import UsageError

__all__ = ["export_command"]


@click.command(
    "export",
    cls=CommandPage,
    short_help="Training data from traces.",
    epilog=f"""\b
Examples:
  branchwise export runs/a --format sft --out sft.jsonl
  branchwise export runs/a --format dpo --method tot_bfs --out dpo.jsonl
  branchwise export imported/game24 --format prm --out prm.jsonl

\b
A line of each format, as TRL reads it:
  sft  {{"prompt": [{{"role": "user", ...}}], "completion": [{{"role": "assistant", ...}}]}}
  dpo  {{"prompt": [...], "chosen": [...], "rejected": [...]}}
  prm  {{"prompt": "...", "completions": ["step", "step"], "labels": [true, false]}}

{EXITS}""",
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, cls=Option, heading="Examples",
              help="sft: winning paths; dpo: better and worse siblings; prm: labels of steps.")  # fmt: skip
@click.option("--method", "methods", metavar="METHOD", multiple=True, cls=Option, heading="Examples",
              help="Take runs of this method only; may be repeated.  [default: all]")  # fmt: skip
@click.option("--most", metavar="N", type=click.IntRange(1), default=16, show_default=True, cls=Option, heading="Examples",
              help="The most examples of a run (dpo: of a parent).")  # fmt: skip
@click.option("--margin", metavar="X", type=click.FloatRange(0, 1), cls=Option, heading="Examples",
              help="dpo: let the evaluator's values decide, which must differ by X, in place of the truth.")  # fmt: skip
@click.option("--unchecked", is_flag=True, cls=Option, heading="Examples",
              help="sft: also take the chosen answers of tasks that no program can judge.")  # fmt: skip
@click.option("--unique", is_flag=True, cls=Option, heading="Examples",
              help="Write equal lines, which several runs of an item give, only once.")  # fmt: skip
@click.option("--data", metavar="PATH", type=click.Path(path_type=Path), cls=Option, heading="Answer key",
              help="The file or folder of the public set.  [default: BRANCHWISE_DATA, else the task's own list]")  # fmt: skip
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), cls=Option, heading="Output",
              help="Write FILE, and FILE.about.json beside it.  [default: standard output]")  # fmt: skip
def export_command(
    folder: Path, form: str, methods: tuple[str, ...], most: int, margin: float | None, unchecked: bool, unique: bool, data: Path | None,
    out: Path | None,
) -> int:  # fmt: skip
    """Write training data from the traces in DIR, which `bench run`, `solve --out` or `import` wrote. No model is called.

    The answer key (or exhaustive search, or the rules) decides what is right; its text is never written. Never measure a model on items that
    it was trained on: the items are listed in FILE.about.json, with licences.
    """
    if margin is not None and form != "dpo":
        raise UsageError("--margin is for --format dpo")
    if unchecked and form != "sft":
        raise UsageError("--unchecked is for --format sft")
    told: list[str] = []
    items: dict[str, set[str]] = {}
    models: set[str] = set()
    count, seen, unjudged, by_key, lines = 0, 0, 0, False, _Lines(unique)
    manifest = read_manifest(folder) if (folder / MANIFEST).exists() else {}
    with ExitStack() as stack:
        truths = stack.enter_context(Truths(keys_of(folder, data), golds_of(manifest)))
        found = runs(folder, truths, methods, told.append)
        file = _opened(stack, out)
        for run in found:
            seen += 1
            unjudged += run.truth is None
            for row in _examples(run, form, most, margin, unchecked):
                line = json.dumps(row, ensure_ascii=False)
                if not lines.takes(line):
                    continue
                click.echo(line) if file is None else file.write(line + "\n")
                items.setdefault(run.task, set()).add(run.item)
                models.add(run.model)
                count += 1
                by_key = by_key or (run.truth is not None and margin is None)
        told += truths.notes
    by = f"values of the evaluator that differ by {margin} or more" if margin is not None else ""
    by = "the answers that were chosen, right or not: no program judged them" if unchecked and count and not by_key else by
    document = about(form, count, items, models, manifest, by, keyless=not by_key)
    if not count:
        document["warnings"] = [_why_none(form, seen, unjudged, by, unchecked, methods)]
    if out is not None:
        _beside(out).write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    for note in [*told, *document["warnings"]]:
        click.echo(plain(f"note: {note}"), err=True)
    click.echo(plain(f"{plural(count, 'example')} from {plural(seen, 'run')}{f' in {out}' if out else ''}{lines.told}"), err=True)
    return 0 if count else 3


class _Lines:
    """Which lines were written before: several runs of an item come upon the same steps."""

    def __init__(self, unique: bool) -> None:
        self._unique = unique
        self._seen: set[bytes] = set()
        self._again = 0

    def takes(self, line: str) -> bool:
        """Whether `line` is to be written."""
        digest = blake2b(line.encode("utf-8", "replace"), digest_size=16).digest()
        again = digest in self._seen
        self._seen.add(digest)
        self._again += again
        return not (again and self._unique)

    @property
    def told(self) -> str:
        """What the last line of the command says of them."""
        if not self._again:
            return ""
        if self._unique:
            return f"; {plural(self._again, 'equal line')} left out"
        return f"; {self._again} of them equal to an earlier line (--unique leaves these out)"


def _why_none(form: str, seen: int, unjudged: int, by: str, unchecked: bool, methods: tuple[str, ...]) -> str:
    """Why there is no example. What has not been exported needs no word about licences."""
    if not seen:
        return f"no run of method {' or '.join(methods)} is there" if methods else "no run is there"
    if by:
        return f"no thought has two siblings with {by}"
    if unjudged == seen and not unchecked:
        more = "; --unchecked takes the answers that were chosen" if form == "sft" else ""
        return f"what is right in these runs cannot be told: their answers no program can check, or the key is not at hand (--data){more}"
    judged = "" if not unjudged else f" of the {seen - unjudged} that can be judged"
    if form == "sft":
        return f"no run{judged} came upon a right answer" + (", and none that cannot be judged chose one" if unjudged and unchecked else "")
    if form == "dpo":
        return f"no run{judged} has two siblings of which one leads on to a right answer and the other does not"
    return f"no run{judged} has a path of which it is known for each step whether a right answer can be reached"


def _examples(run: Run, form: str, most: int, margin: float | None, unchecked: bool) -> Iterator[dict[str, Any]]:
    if form == "sft":
        return sft(run, most, unchecked)
    return dpo(run, most, margin) if form == "dpo" else prm(run, most)


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.about.json")


def _opened(stack: ExitStack, out: Path | None) -> IO[str] | None:
    if out is None:
        return None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return stack.enter_context(open(out, "w", encoding="utf-8", newline="\n"))
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
