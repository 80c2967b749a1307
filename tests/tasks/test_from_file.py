"""A task from a YAML file: the example runs, every mistake is told with its line, patterns cannot run for ever, nothing is executed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from branchwise import Kind, Scripted, TraceError, UsageError, solve
from branchwise.errors import UnknownName
from branchwise.tasks import task
from branchwise.tasks.from_file import task_from_file
from branchwise.tasks.patterns import LINE, compiled, first_match
from support.pace import slowness

EXAMPLE = Path(__file__).parents[2] / "examples" / "postmortem.yaml"
SMALL = "name: small\nprompt: 'Q: {{input}}'\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "task.yaml"
    path.write_text(text, "utf-8")
    return path


def reply(request: Any, index: int) -> str:
    prompt = request.messages[-1].content
    if request.role == "answer":
        return "Here it is.\nCAUSE: the certificate"
    if request.role == "evaluate":
        return '{"reason": "x", "score": 0.8}' if "certificate" in prompt.split("Line of thought")[-1] else '{"reason": "y", "score": 0.5}'
    if "Thoughts so far" in prompt:
        return "1. CAUSE: the new certificate is not trusted\n2. RULED OUT: it was idle\n3. ask the users"
    return "1. the certificate\n2. the database"


async def test_the_example_runs_from_file_to_answer() -> None:
    found = task(str(EXAMPLE))
    assert (found.name, found.default_method) == ("postmortem", "best_first")
    method = found.method()
    assert (method.generate.k, method.generate.sampling.temperature, method.max_nodes) == (3, 0.8, 12)  # type: ignore[attr-defined]
    problem = found.problem(found.items()[0].input)
    assert problem.prompt.startswith("An outage has these symptoms: logins time out")
    result = await solve(problem, method, Scripted(reply))
    assert result.answer == "the new certificate is not trusted"
    assert result.solved is None
    kinds = {node.thought: node.status.kind for node in result.tree}
    assert kinds["RULED OUT: it was idle"] is Kind.DEAD
    assert kinds["CAUSE: the new certificate is not trusted"] is Kind.COMPLETE


def test_the_user_can_choose_another_method_k_and_evaluator() -> None:
    found = task_from_file(EXAMPLE)
    assert found.method("best_first", {"k": 5}).generate.k == 5
    assert type(found.method("best_first", {"evaluate": "heuristic"}).evaluate).__name__ == "Heuristic"
    assert type(found.method("tot_bfs").evaluate).__name__ == "Score"
    assert found.method("io").evaluate is None


async def test_without_any_rules_an_answer_is_what_the_answer_marker_says(tmp_path: Path) -> None:
    found = task_from_file(written(tmp_path, SMALL + "method: io\n"))
    for text in ("Because.\nAnswer: 42", "42"):
        result = await solve(found.problem("x"), found.method(), Scripted([{"replies": [text]}]))
        assert result.answer == "42"


async def test_a_provable_task_proves(tmp_path: Path) -> None:
    text = SMALL + "method: io\nprovable: true\nstatus: {solved: '^7$', complete: '^\\d+$'}\nanswer: '^\\d+$'\n"
    found = task_from_file(written(tmp_path, text))
    for said, solved in (("7", True), ("8", False)):
        result = await solve(found.problem("x"), found.method(), Scripted([{"replies": [said]}]))
        assert (result.answer, result.solved) == (said, solved)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SMALL + "methods: io\n", r"line 3: methods: unknown key; did you mean 'method'"),
        (SMALL + "method: best_frist\n", r"line 3: method.use: unknown method 'best_frist'; did you mean 'best_first'"),
        (SMALL + "method:\n  use: best_first\n  dept: 3\n", r"line 5: method.dept: unknown key; did you mean 'depth'"),
        (SMALL + "method:\n  use: best_first\n  depth: deep\n", r"line 5: method.depth: must be a whole number, not 'deep'"),
        (SMALL + "method: {use: best_first, depth: 0}\n", r"line 3: .*depth must be 1 to 10000"),
        (SMALL + "generate: {use: propose, temprature: 1}\n", r"line 3: generate.temprature: unknown key; did you mean 'temperature'"),
        (SMALL + "generate: {use: propos}\n", r"line 3: generate.use: unknown name 'propos'; did you mean 'propose'"),
        (SMALL + "generate: {use: propose, k: 0}\n", r"line 3: generate: propose needs k"),
        (SMALL + "generate: {use: propose, prompt: mine}\n", r"prompts: there is no prompt 'mine'"),
        (SMALL + "evaluate: {use: score, samples: yes}\n", r"line 3: evaluate.samples: must be a whole number"),
        (SMALL + "evaluate: vote\nmethod: mcts\n", r"(?i)line 4: method: .*vote × mcts"),
        (SMALL + "prompts:\n  propse: x {{prompt}}\n", r"line 4: prompts.propse: unknown key; did you mean 'propose'"),
        (SMALL + "prompts:\n  propose: x {{promt}}\n", r"line 4: prompts.propose: .*unknown placeholder {{promt}}"),
        (SMALL + "prompts:\n  propose: nothing\n", r"line 4: prompts.propose: .*names no placeholder"),
        (SMALL + "status:\n  done: x\n", r"line 4: status.done: unknown key"),
        (SMALL + "status:\n  dead: ['(a+)+b']\n", r"line 4: status.dead: the pattern '\(a\+\)\+b' is refused: it repeats a part"),
        (SMALL + "status: {solved: x}\n", r"line 3: status: solved says what is proven: set provable"),
        (SMALL + "answer: '('\n", r"line 3: answer: the pattern '\(' is refused: it is no regular expression"),
        (SMALL + "provable: 1\n", r"line 3: provable: must be true or false"),
        (SMALL + "name: again\n", r"line 3: name is there twice"),
        (SMALL + "1: x\n", r"line 3: a key must be a text"),
        ("name: x\nprompt: no input\n", r"line 2: prompt: needs a text with {{input}}"),
        ("name: x\n", r"line 1: prompt: needs a text with {{input}}"),
        ("- a\n", r"line 1: a task file is a mapping"),
        ("a: [\n", r"line 2: not YAML"),
        ("a: !!python/object/apply:os.system ['true']\n", r"not YAML: could not determine a constructor"),
        ("", r"a task file is a mapping"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=told) as error:
        task_from_file(path)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the task file"):
        task(str(tmp_path / "none.yaml"))
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UsageError, match="not UTF-8"):
        task(str(path))


async def test_patterns_may_not_change_on_resume(tmp_path: Path) -> None:
    path, trace = written(tmp_path, SMALL + "method: io\nstatus: {complete: '^A'}\n"), tmp_path / "run.jsonl"
    found = task_from_file(path)
    model = Scripted([{"replies": ["A"]}])
    await solve(found.problem("x"), found.method(), model, trace=trace)
    changed = task_from_file(written(tmp_path, SMALL + "method: io\nstatus: {complete: '^B'}\n"))
    with pytest.raises(TraceError, match="rules"):
        await solve(changed.problem("x"), changed.method(), model, resume=trace)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+", "(a*)*b", "(?:a|aa)+$", "([a-z]+)*!", r"(\w+\s?)+$", "(a?){30}a{30}", "((ab)*c)*", r"(a)\1", "(?P=x)", "a*b*c*", "(?i:a)",
        "a?b?c?d?e?f?g?h?i?", "x" * 1001, "[", "a{2,1}", "(?#note)",
    ],
)  # fmt: skip
def test_a_pattern_that_could_run_for_ever_or_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="it "):
        compiled(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^ANSWER: (.+)$", r"(?i)\bimpossible\b", r"(?:yes|no)\.?$", r"\d+(?:\.\d+)?", r"[\]\[)(*+]{1}x", r"a\+\+", "(?P<n>[0-9]+)", "(abc)+",
        "^.*x", r"(?<!not )\bdone\b", "{{x}}", "a{,}", "결론[:：] ?(.+)",
    ],
)  # fmt: skip
def test_plain_patterns_are_taken(pattern: str) -> None:
    assert compiled(pattern)


@pytest.mark.parametrize("pattern", [".*.*x", "a*a*b", r"\s*\w+!", "(?:a|b)?(?:a|b)?(?:a|b)?.*.*x"])
def test_the_worst_text_for_what_is_taken_takes_no_more_than_seconds(pattern: str) -> None:
    text = "\n".join(["a" * LINE] * 20)
    start = time.monotonic()
    first_match([compiled(pattern)], text)
    assert time.monotonic() - start < 10 * slowness()


def test_long_lines_are_taken_by_sentences_and_only_the_end_of_a_long_thought_counts() -> None:
    done = [compiled(r"\bdone\b")]
    assert first_match(done, "word " * 200 + ". It is done.")
    assert not first_match(done, "done\n" + "x" * 5000)
    assert not first_match(done, "<think>done</think> not yet")


class Point:
    """An entry point."""

    dist = None

    def __init__(self, name: str, found: Any) -> None:
        self.name, self.value, self._found = name, f"package:{name}", found

    def load(self) -> Any:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def test_a_broken_plug_in_warns_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    import branchwise.tasks as tasks

    good = task_from_file(EXAMPLE)
    points = [Point("mine", good), Point("broken", RuntimeError("boom")), Point("odd", 7), Point("game24", RuntimeError("shadow"))]
    monkeypatch.setattr(tasks, "_points", lambda: iter(points))
    assert task("Mine") is good
    assert task("game24").name == "game24"
    with pytest.raises(UsageError, match=r"broken .* cannot be loaded: RuntimeError: boom"):
        task("broken")
    with pytest.raises(UnknownName, match="mine"):
        task("mina")
    with pytest.warns(UserWarning, match=r"plug-in") as warned:
        found = tasks.installed()
    assert set(found) == {*tasks.TASKS, "mine"}
    assert len(warned) == 3


def test_nothing_is_loaded_from_the_working_directory_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 103: neither a task file of that name, nor the entry points of a distribution that lies there."""
    (tmp_path / "evil.yaml").write_text(SMALL, "utf-8")
    (tmp_path / "evil.py").write_text("raise SystemExit('loaded')", "utf-8")
    info = tmp_path / "evil-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text("[branchwise.tasks]\nevil = evil:TASK\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnknownName):
        task("evil")
    assert task("./evil.yaml").name == "small"
