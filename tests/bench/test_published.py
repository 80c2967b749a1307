"""The published GPT-4 runs, recomputed by our checkers from the thoughts alone, give the published figures to the decimal (case 39)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from branchwise import UsageError
from branchwise.bench.crosswords import Score, best_visited, mean, own_solutions, published_solutions, score
from branchwise.bench.imported import import_log
from branchwise.bench.published import beam24, crossed, written
from branchwise.bench.traces import read_folder
from branchwise.tasks.crosswords import letters
from branchwise.tasks.crosswords.grid import EMPTY
from support.data import shared


def rounded(found: Score) -> tuple[float, float, float]:
    return round(100 * found.letters, 1), round(100 * found.words, 1), round(100 * found.game, 1)


def test_game_of_24_has_62_first_69_any_and_23_8_mean(tmp_path: Path) -> None:
    import_log(shared("game24/gpt4_tot_log_900_1000.json"), tmp_path / "out")
    found = beam24(read_folder(tmp_path / "out"))
    assert found.items == 100
    assert (round(100 * found.first, 1), round(100 * found.best, 1), round(100 * found.mean, 1)) == (62.0, 69.0, 23.8)
    assert found.states == {"correct": 119, "wrong": 37, "no_answer": 344}


def test_crosswords_have_78_60_20_and_the_best_state_82_4_67_5_35(tmp_path: Path) -> None:
    import_log(shared("crosswords/infoss_dfs_prune.json"), tmp_path / "out")
    found = crossed(read_folder(tmp_path / "out"), published_solutions(shared("crosswords/mini0505.json")))
    assert found.items == 20
    assert rounded(found.output) == (78.0, 60.0, 20.0)
    assert rounded(found.best) == (82.4, 67.5, 35.0)


def test_flags_and_scores_that_are_stored_in_a_log_change_nothing(tmp_path: Path) -> None:
    rows = json.loads(shared("game24/gpt4_tot_log_900_1000.json").read_text())
    for row in rows:
        row["infos"] = [{"r": 1} for _ in row["infos"]]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    import_log(tmp_path / "log.json", tmp_path / "out")
    assert round(100 * beam24(read_folder(tmp_path / "out")).first) == 62


def test_published_passages_are_checked_for_their_ends(tmp_path: Path) -> None:
    import_log(shared("creative_writing/gpt4_tot_log_0_100.json"), tmp_path / "out")
    assert {key: round(value, 3) for key, value in asdict(written(read_folder(tmp_path / "out"))).items()} == {
        "items": 100, "met": 0.56, "four": 0.99, "paragraphs": 0.775,
    }  # fmt: skip


def test_letters_words_and_games_are_three_numbers() -> None:
    solution = own_solutions()["1"]
    assert score(solution, solution) == Score(1, 1, 1)
    assert score(EMPTY, solution) == Score(0, 0, 0)
    four = letters(("h1. SPARE", "h2. COLON", "h3. ALOUD", "h4. RANGE"))
    assert score(four, solution) == Score(0.8, 0.4, 0)
    wrong = letters(("h1. SPARE", "h2. COLON", "h3. ALOUD", "h4. RANGE", "h5. FREES"))
    assert score(wrong, solution) == Score(0.96, 0.8, 0)
    assert mean([Score(1, 1, 1), Score(0.5, 0, 0)]) == Score(0.75, 0.5, 0.5)


def test_the_best_visited_state_is_by_words_and_the_first_on_ties(tmp_path: Path) -> None:
    solution = own_solutions()["1"]

    def visit(*actions: str) -> dict[str, object]:
        return {"actions": list(actions), "count": {"sure": 1, "maybe": 0, "impossible": 0}}

    log = [[visit("h1. spare"), visit("h1. spare", "h2. colas"), visit("h3. aloud"), visit("h3. aloud", "h4. range")]]
    (tmp_path / "log.json").write_text(json.dumps(log))
    import_log(tmp_path / "log.json", tmp_path / "out")
    (run,) = read_folder(tmp_path / "out")
    assert best_visited(run.tree, solution) == score(letters(("h3. aloud", "h4. range")), solution)
    found = crossed([run], {"1": solution})
    assert found.output == score(letters(("h1. spare", "h2. colas")), solution)
    with pytest.raises(UsageError, match="no solution of puzzle 1"):
        crossed([run], {})


def test_a_file_without_solutions_is_refused(tmp_path: Path) -> None:
    for text in ("", "[1]", '[[[], ["A"]]]', '[[[], ["1"]]]'):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(UsageError, match=r"f\.json"):
            published_solutions(tmp_path / "f.json")
    with pytest.raises(UsageError, match="cannot read"):
        published_solutions(tmp_path / "none.json")
