r"""The answer keys: of our own lists, and of the public sets. Reads solutions, so only the bench may use it.

A gold that is missing is taken from the box of the row's solution, with a note; a field that holds a whole solution likewise.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from branchwise.bench.grading.verdicts import Gold
from branchwise.data.raw import Raw, rows, strip_debris
from branchwise.thought.parsing import boxes, plain_number, show_number

__all__ = ["LONG_GOLD", "gold_of_text", "own_golds", "published_golds"]

LONG_GOLD = 60
"""A longer gold may be a solution."""
_OWN = {"gsm8k": "numeric", "gsm_hard": "numeric", "svamp": "numeric", "strategyqa": "strategyqa"}
_MATH = ("math500", "aime24", "amc23", "olympiadbench", "odyssey")


@lru_cache(maxsize=16)
def _key(name: str) -> dict[str, str]:
    text = (resources.files("branchwise.bench.keys") / f"{name}.json").read_text("utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def own_golds(task: str) -> dict[str, Gold]:
    """The answer key of a task's own list, by id; empty where it has none."""
    name = "math" if task in _MATH else _OWN.get(task)
    return (
        {}
        if name is None
        else {key: Gold(text, listing="," in text and not text.startswith(("(", "["))) for key, text in _key(name).items()}
    )


def published_golds(name: str, path: Path) -> dict[str, Gold]:
    """The answer key of the public set `name`, by id. Raises `UsageError` for a file that cannot be read."""
    return {row.id: _gold(name, row) for row in rows(path)}


def gold_of_text(text: str) -> Gold:
    """A gold that a user wrote: where it is a whole solution, the box in it (or what follows `####`), with a note."""
    found = [box for box in boxes(text) if box]
    if found and (len(text) > LONG_GOLD or len(found) == 1):
        return Gold(found[-1], note="from the box in the solution")
    if "####" in text:
        return Gold(text.rsplit("####", 1)[1].strip(), note="from the line behind ####")
    return Gold(text)


def _gold(name: str, row: Raw) -> Gold:
    fields = row.fields
    if name == "gsm8k":
        text = str(fields.get("answer", ""))
        return Gold(text.rsplit("####", 1)[1].strip() if "####" in text else "", note="" if "####" in text else "no #### in the answer")
    if name in ("gsm_hard", "svamp"):
        return Gold(_number(fields.get("target" if name == "gsm_hard" else "Answer")))
    if name == "strategyqa":
        said = fields.get("answer")
        return Gold("yes" if said is True else "no" if said is False else str(said if said is not None else ""))
    if name == "olympiadbench":
        return _olympiad(fields)
    answer = fields.get("answer")
    if name == "odyssey" and isinstance(answer, str):
        return Gold(strip_debris(answer))
    if answer is None or answer == "":
        return _from_solution(fields)
    return gold_of_text(_number(answer))


def _number(value: Any) -> str:
    """A number of a JSON file as text: `27.0` is 27, and floats keep all their digits; a text stays, with leading zeros gone."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, (int, float)):
        return show_number(Fraction(repr(value))) if value == value and abs(value) != float("inf") else ""
    text = str(value).strip()
    return show_number(number) if re.fullmatch(r"-?0\d+", text) and (number := plain_number(text)) is not None else text


def _olympiad(fields: dict[str, Any]) -> Gold:
    """One or several answers, a unit, and an error bound where the set states one."""
    answers = fields.get("final_answer")
    if not isinstance(answers, list) or not answers:
        return _from_solution(fields)
    text = ", ".join(str(answer).strip() for answer in answers)
    bound = fields.get("error")
    tolerance = Fraction(str(bound)) if bound and re.fullmatch(r"[0-9.eE+-]+", str(bound)) else Fraction(0)
    return Gold(text, listing=bool(fields.get("is_multiple_answer")), tolerance=tolerance, unit=str(fields.get("unit") or ""))


def _from_solution(fields: dict[str, Any]) -> Gold:
    solution = fields.get("solution")
    text = solution if isinstance(solution, str) else "\n".join(map(str, solution)) if isinstance(solution, list) else ""
    found = [box for box in boxes(text) if box]
    return Gold(found[-1], note="from the box in the solution") if found else Gold("", note="neither an answer nor a box in a solution")
