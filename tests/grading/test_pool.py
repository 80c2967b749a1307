"""The guarded worker: huge and slow answers end, the next one is answered, memory and files are bounded, nothing is evaluated (cases 94, 99)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from branchwise.bench.grading.maths import equivalent
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Unknown
from support.pace import slowness

HOSTILE = [
    "5^{5^{5^{5^5}}}", "9999999!", "10^{10^{10}}", "(" * 20_000, "1" * 1_000_000, "9^9^9^9", "(((999!)!)!)!", "{9}^{9^{9}}",
    "x^{2^{1000}}", r"\sqrt{" * 300 + "2" + "}" * 300, r"\frac{1}{" * 40 + "2" + "}" * 40,
]  # fmt: skip
SLOW = [r"2^{2^{n^{5}}}", r"\int_0^{100} e^{x^{x}} dx"]


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda text: text[:12])
def test_a_huge_answer_is_refused_before_it_is_computed(worker: Worker, answer: str) -> None:
    assert equivalent("x+1", "1+x", worker)
    began = time.perf_counter()
    with pytest.raises(Unknown, match=r"unknown \(limit\)"):
        equivalent("7", answer, worker)
    assert time.perf_counter() - began < 1 * slowness()
    assert equivalent("x+1", "1+x", worker)


@pytest.mark.parametrize("answer", SLOW)
def test_a_slow_comparison_is_ended_and_the_next_one_is_answered(answer: str) -> None:
    with Worker(seconds=10) as worker:
        assert equivalent("x+1", "1+x", worker)
        worker.seconds = 1
        began = time.perf_counter()
        with pytest.raises(Unknown, match=r"unknown \(limit\): not compared within 1 s"):
            equivalent("7", answer, worker)
        assert time.perf_counter() - began < 2 * slowness()
        worker.seconds = 10
        assert equivalent("y+1", "1+y", worker)


def test_a_comparison_is_asked_for_once(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker.equal("z+1", "1+z")
    monkeypatch.setattr(worker, "_ask", None)
    assert worker.equal("z+1", "1+z")


def test_a_worker_that_dies_is_replaced(worker: Worker) -> None:
    assert worker.equal("a+1", "1+a")
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert worker.equal("b+1", "1+b")


def test_nothing_of_an_answer_is_evaluated(worker: Worker, tmp_path: Path) -> None:
    target = tmp_path / "pwned"
    for answer in (
        f"__import__('os').system('touch {target}')", f"open('{target}','w')", rf"\text{{open('{target}','w')}}", "().__class__.__mro__",
        f"x = open('{target}', 'w')", "lambda: 1", "a.__class__", "f'{1}'", "[x for x in (1).__class__.__mro__]",
    ):  # fmt: skip
        assert not equivalent("5", answer, worker)
        assert not worker.equal("5", answer)
    assert not target.exists()


def test_text_parsers_of_sympy_read_digits_and_nothing_else() -> None:
    code = (
        "from branchwise.bench.grading import worker; worker._no_text_is_evaluated()\n"
        "import sympy\n"
        "assert sympy.sympify('12') == 12 and sympy.Number('1.5') == 1.5\n"
        "for text in ('1+1', 'x', '__import__(chr(111))', 'print(1)'):\n"
        "    try:\n        sympy.sympify(text)\n"
        "    except Exception:\n        continue\n"
        "    raise SystemExit(f'evaluated {text}')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_memory_and_files_are_bounded() -> None:
    code = (
        "from branchwise.bench.grading.worker import _limits, MEMORY; import resource; _limits()\n"
        "assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 0\n"
        "try:\n    bytearray(2 * MEMORY)\nexcept MemoryError:\n    raise SystemExit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
