"""Mini crosswords: letters that never change, merged confidences, clues judged one by one, the three depth-first methods (cases 39, 54)."""

from __future__ import annotations

from pathlib import Path

import pytest
from english_words import get_english_words_set

from branchwise import COMPLETE, METHODS, OPEN, Budget, Fate, MethodError, Rejected, Request, UsageError, solve
from branchwise.bench.crosswords import own_solutions
from branchwise.errors import UnknownName
from branchwise.tasks import task
from branchwise.tasks.crosswords import CROSSWORDS, PLACES, Crossword, letters, pattern
from branchwise.tasks.crosswords.grid import EMPTY, read_entry, read_rows, show
from branchwise.thought.clues import Clues
from support.data import shared
from support.models import FakeModel, Says

FIRST = CROSSWORDS.items()[0].input
SOLUTION = own_solutions()["1"]
ROWS = tuple(f"{place}. {pattern(SOLUTION, place)}" for place in PLACES[:5])


@pytest.fixture
def puzzle() -> Crossword:
    return Crossword.parse(FIRST)


def test_ten_clues_are_read_with_labels_in_any_order_or_without(puzzle: Crossword) -> None:
    lines = FIRST.split("\n")
    assert Crossword.parse("\n".join(reversed(lines))).clues_given == puzzle.clues_given
    assert Crossword.parse("\n\n".join(line[4:] for line in lines)).clues_given == puzzle.clues_given
    assert puzzle.prompt == FIRST


@pytest.mark.parametrize("text", ["", "h1. one", FIRST + "\nmore", FIRST.replace("v5.", "v4."), FIRST.replace("v5.", "")])
def test_other_inputs_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"five down(.|\n)*h1\. Impressive in size(.|\n)*v5\. "):
        Crossword.parse(text)


def test_the_dozen_puzzles_are_of_ten_distinct_real_words_each() -> None:
    real = {word for word in get_english_words_set(["web2", "gcide"], lower=False, alpha=True) if word.islower()}
    solutions = own_solutions()
    assert [item.id for item in CROSSWORDS.items()] == list(solutions)
    assert len(solutions) == 12
    for item in CROSSWORDS.items():
        words = [pattern(solutions[item.id], place).lower() for place in PLACES]
        assert len(set(words)) == 10
        assert set(words) <= real
        for word, clue in zip(words, Crossword.parse(item.input).clues_given, strict=True):
            assert word not in clue.lower()


def test_no_solved_grid_is_shown_in_a_prompt() -> None:
    for text in CROSSWORDS.prompts.values():
        shown = {line.split(". ", 1)[1] for line in text.split("\n") if line[:1] == "h" and line[4:].isupper()}
        for solution in own_solutions().values():
            assert len(shown & set(show(solution).split("\n"))) <= 1


def test_the_published_list_is_read_without_its_letters() -> None:
    items = CROSSWORDS.items(shared("crosswords/mini0505.json"))
    assert len(items) == 156
    assert items[0].id == "1"
    assert all(len(Crossword.parse(item.input).clues_given) == 10 for item in items)


def test_a_file_that_is_no_list_of_puzzles_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", '[[["a"], []]]', '{"a": 1}', "[1]"):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(UsageError, match=r"f\.json"):
            CROSSWORDS.items(tmp_path / "f.json")


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("h1. TUNED", ("h1", "TUNED")),
        ("v5. tuned", ("v5", "TUNED")),
        ("**H2.** motor", ("h2", "MOTOR")),
        ("h3: t u n e d", ("h3", "TUNED")),
        ("h1. Put in tune: TUNED", ("h1", "TUNED")),
        ("v4) TUNED - as a piano", ("v4", "TUNED")),
        ("v4. TUNED: adjusted", ("v4", "TUNED")),
        ("v4. put in tune: tuned", ("v4", "TUNED")),
        ("v4. T-U-N-E-D", ("v4", "TUNED")),
        ("v4. The answer is TUNED", ("v4", "TUNED")),
    ],
)
def test_a_word_in_a_place_is_read_in_many_forms(line: str, entry: tuple[str, str]) -> None:
    assert read_entry(line) == entry


@pytest.mark.parametrize("line", ["h6. TUNED", "TUNED", "h1. TUNE", "h1.", "h1. TUNEDS", "x2. TUNED", "h1. ТUNED"])
def test_other_lines_are_no_words_in_a_place(line: str) -> None:
    with pytest.raises(Rejected):
        read_entry(line)


def test_a_word_that_would_change_a_filled_letter_is_rejected_with_the_reason(puzzle: Crossword) -> None:
    assert puzzle.read(("h1. SPARE",), "v1. scarf") == "v1. SCARF"
    with pytest.raises(Rejected, match="TULIP would change letters that are filled: v1 is S____"):
        puzzle.read(("h1. SPARE",), "v1. tulip")
    with pytest.raises(Rejected, match="SPARE stands in h1 already"):
        puzzle.read(("h1. SPARE",), "h1. SPARE")
    with pytest.raises(Rejected, match="SCARF stands in v1 already"):
        puzzle.read(ROWS, "v1. SCARF")


def test_a_revision_may_change_letters_but_brings_nothing_back(puzzle: Crossword) -> None:
    assert puzzle.revise(("h1. SPARE",), "v1. tulip") == "v1. TULIP"
    assert letters(("h1. SPARE", "v1. TULIP"))[:5] == tuple("TPARE")
    with pytest.raises(Rejected, match="SPARE stood in h1 before, and was given up"):
        puzzle.revise(("h1. SPARE", "v1. TULIP"), "h1. SPARE")


def test_equal_grids_are_one_state_whatever_the_order(puzzle: Crossword) -> None:
    assert puzzle.key(("h1. SPARE", "v1. SCARF")) == puzzle.key(("v1. SCARF", "h1. SPARE"))
    assert puzzle.status(ROWS) == COMPLETE
    assert puzzle.status(ROWS[:4]) == OPEN
    assert puzzle.answer(ROWS[:2]) == "SPARE COLON _____ _____ _____"
    assert puzzle.answer(()) is None


@pytest.mark.parametrize(
    "text",
    [
        show(SOLUTION),
        "Here is the grid:\n" + "\n".join(ROWS),
        "\n".join(" ".join(row) for row in show(SOLUTION).lower().split("\n")) + "\n",
        "<think>AAAAA\nBBBBB</think>\n" + "\n".join(f"| {' | '.join(row)} |" for row in show(SOLUTION).split("\n")),
    ],
)
def test_a_whole_answer_is_read_as_five_rows(puzzle: Crossword, text: str) -> None:
    assert puzzle.whole((), text) == show(SOLUTION)
    assert puzzle.status((puzzle.whole((), text),)) == COMPLETE
    assert puzzle.answer((puzzle.whole((), text),)) == "SPARE COLON ALOUD RANGE FREED"


def test_a_reply_without_a_grid_is_no_whole_answer(puzzle: Crossword) -> None:
    for text in ("", "I cannot.", "SPARE\nCOLON", "h1. SPARE\nh2. COLON"):
        with pytest.raises(Rejected, match="no grid"):
            puzzle.whole((), text)
    assert read_rows("SPARE") is None
    assert letters(("nonsense",)) == EMPTY


def test_clues_with_two_letters_and_no_word_of_their_own_are_judged(puzzle: Crossword) -> None:
    assert puzzle.clues(("h1. SPARE",)) == []
    two = puzzle.clues(("h1. SPARE", "h2. COLON"))
    assert len(two) == 5
    assert two[0].endswith(": s c _ _ _")
    assert len(puzzle.clues(ROWS)) == 5
    assert len(puzzle.clues((show(SOLUTION),))) == 10


async def test_one_impossible_clue_decides_and_the_rest_is_not_asked_for(puzzle: Crossword) -> None:
    said = iter(("sure", "maybe", "Nothing fits.\nimpossible"))
    model = FakeModel(lambda request, i: next(said))
    (found,) = await Clues()(model, puzzle, [("h1. SPARE", "h2. COLON")])
    assert (found.value, found.samples, model.calls) == (0.0, (1.0, 0.5, 0.0), 3)
    assert found.reason.startswith("impossible: ")


async def test_the_value_is_the_mean_over_the_clues_that_could_be_read(puzzle: Crossword) -> None:
    said = iter(("sure", "maybe", "well", "maybe", "sure"))
    (found,) = await Clues()(FakeModel(lambda request, i: next(said)), puzzle, [("h1. SPARE", "h2. COLON")])
    assert (found.value, found.samples) == (0.75, (1.0, 0.5, None, 0.5, 1.0))
    (nothing,) = await Clues()(FakeModel(lambda request, i: "hm"), puzzle, [("h1. SPARE", "h2. COLON")])
    assert nothing.value is None
    (none,) = await Clues()(Says(), puzzle, [("h1. SPARE",)])
    assert none.value == 0.5


def test_clues_are_refused_for_a_problem_without_any() -> None:
    with pytest.raises(MethodError, match="this problem has none"):
        task("game24").method("tot_bfs", {"evaluate": "clues"}).refuse(task("game24").problem("4 9 10 13"))


def scripted(request: Request, i: int) -> str:
    """In two of five lists a wrong word is certain, in the others low; what has a Q in it is impossible."""
    if request.role == "evaluate":
        return "impossible" if "q" in request.messages[-1].content.rsplit(": ", 1)[-1] else "sure"
    wrong = f"h5. QQQQQ ({'certain' if i < 2 else 'low'})"
    return "\n".join([*(f"{row} ({'high' if i % 2 else 'medium'})" for row in ROWS), wrong])


async def test_dfs_orders_by_merged_confidence_prunes_the_impossible_and_comes_back(puzzle: Crossword) -> None:
    result = await solve(puzzle, CROSSWORDS.method("tot_dfs", {"max_steps": 12}), FakeModel(scripted))
    wrong, right, _ = sorted(result.tree.root.children, key=lambda node: -(node.confidence or 0))
    assert (wrong.thought, wrong.confidence) == ("h5. QQQQQ", pytest.approx(2 * 1 + 3 * 0.1))
    assert (right.thought, right.confidence) == ("h1. SPARE", pytest.approx(2 * 0.5 + 3 * 0.2))
    assert wrong.decided < right.decided
    assert wrong.children
    assert all((child.fate, child.value) == (Fate.PRUNED, 0) for child in wrong.children)
    assert result.path == list(ROWS)
    assert result.answer == "SPARE COLON ALOUD RANGE FREED"


async def test_without_pruning_nothing_is_judged(puzzle: Crossword) -> None:
    model = FakeModel(scripted)
    result = await solve(puzzle, CROSSWORDS.method("tot_dfs_no_prune", {"max_steps": 12}), model)
    assert not any(request.role == "evaluate" for request in model.requests)
    assert not any(node.fate is Fate.PRUNED for node in result.tree)
    assert sum(bool(node.decided) for node in result.tree) == 12
    assert result.stop_reason == "budget:steps"


async def test_without_backtracking_it_is_one_path_that_may_overwrite(puzzle: Crossword) -> None:
    def reply(request: Request, i: int) -> str:
        return "\n".join(["h1. QQQQQ (certain)", *(f"{row} (high)" for row in ROWS), "v1. TULIP (low)"])

    result = await solve(puzzle, CROSSWORDS.method("tot_dfs_no_backtrack"), FakeModel(reply))
    assert result.path == ["h1. QQQQQ", *ROWS, "v1. TULIP"]
    assert result.answer == "TPARE UOLON LLOUD IANGE PREED"
    assert all(len(node.children) <= 1 for node in result.tree)


async def test_without_backtracking_it_ends_after_twenty_words(puzzle: Crossword) -> None:
    def reply(request: Request, i: int) -> str:
        grid = request.messages[-1].content.split("Grid:\n", 1)[1][:5]
        following = "A" if grid[0] == "_" else chr(ord(grid[0]) + 1)
        return f"h1. {following * 5} (certain)"

    result = await solve(puzzle, CROSSWORDS.method("tot_dfs_no_backtrack"), FakeModel(reply))
    assert len(result.tree) == 20
    assert result.stop_reason == "max_depth"
    assert result.usage.calls == 20 * 5


async def test_the_deepest_state_is_the_output_unless_a_full_grid_was_kept(puzzle: Crossword) -> None:
    crossed = [f"{place}. {pattern(SOLUTION, place)}" for place in ("h1", "v1", "h2", "v2", "h3", "v3", "h4", "v4")]

    def deep(request: Request, i: int) -> str:
        return "sure" if request.role == "evaluate" else "\n".join(f"{line} (certain)" for line in crossed)

    def full(request: Request, i: int) -> str:
        return "sure" if request.role == "evaluate" else "\n".join(f"{line} (certain)" for line in (*crossed, ROWS[4]))

    unfinished = await solve(puzzle, CROSSWORDS.method("tot_dfs", {"max_steps": 20}), FakeModel(deep))
    assert unfinished.path == crossed
    assert unfinished.answer == "SPARE COLON ALOUD RANGE FREE_"
    finished = await solve(puzzle, CROSSWORDS.method("tot_dfs", {"max_steps": 20}), FakeModel(full))
    assert finished.answer == "SPARE COLON ALOUD RANGE FREED"


@pytest.mark.parametrize("name", ["tot_bfs_refine", "adaptive", "mctsr", "mctsr_4", "mctsr_8"])
def test_methods_that_make_no_sense_are_refused_by_name(name: str) -> None:
    with pytest.raises(MethodError, match=name):
        CROSSWORDS.method(name)


def test_every_method_is_taken_or_refused() -> None:
    assert set(METHODS) == set(CROSSWORDS.methods) | set(CROSSWORDS.refused)
    with pytest.raises(UnknownName):
        CROSSWORDS.method("nonsense")


@pytest.mark.parametrize("name", [name for name in CROSSWORDS.methods if name not in ("tot_dfs_no_backtrack",)])
async def test_every_method_runs_and_gives_a_grid(puzzle: Crossword, name: str) -> None:
    def reply(request: Request, i: int) -> str:
        return '{"score": 0.5}\nsure' if request.role == "evaluate" else "\n".join(ROWS)

    result = await solve(puzzle, CROSSWORDS.method(name), FakeModel(reply), budget=Budget(calls=200))
    assert result.answer is not None
    assert result.answer.startswith("SPARE")
