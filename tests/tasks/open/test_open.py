"""The open task: the golden tree of the specification's section 3, levels with calls of their own, answers that name what was rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import COMPLETE, OPEN, Kind, Method, MethodError, Rejected, Request, Result, Scripted, UsageError, estimate, solve
from branchwise.errors import UnknownName
from branchwise.model.scripted import Rule
from branchwise.rejected import strongest_rejected, told
from branchwise.tasks import task
from branchwise.tasks.open.task import Open, with_material

OPEN_TASK = task("open")
QUESTION = "How should the service keep its sessions?"

DIRECTIONS = ("Keep them in a shared store", "Keep them in signed cookies", "Keep them in the memory of each server")
STEPS = {
    DIRECTIONS[0]: ("Use a replicated store with expiry", "Use a table of the main database", "Use a file share"),
    DIRECTIONS[1]: ("Sign and encrypt the cookie", "Rotate the keys every day"),
    DIRECTIONS[2]: ("Pin users to servers", "Copy memory between servers"),
}
VALUES = {
    DIRECTIONS[0]: 0.75, DIRECTIONS[1]: 0.72, DIRECTIONS[2]: 0.6,
    STEPS[DIRECTIONS[0]][0]: 0.82, STEPS[DIRECTIONS[0]][1]: 0.70, STEPS[DIRECTIONS[0]][2]: 0.68,
    STEPS[DIRECTIONS[1]][0]: 0.78, STEPS[DIRECTIONS[1]][1]: 0.65,
    STEPS[DIRECTIONS[2]][0]: 0.35, STEPS[DIRECTIONS[2]][1]: 0.2,
}  # fmt: skip


def reply(request: Request, index: int) -> str:
    prompt = request.messages[-1].content
    if request.role == "answer":
        return "Use a shared, replicated store; signed cookies were the runner-up but cannot be revoked."
    thoughts = [line for line in prompt.splitlines() if line in VALUES]
    if request.role == "evaluate":
        return json.dumps({"reason": f"judged {thoughts[-1]!r}", "score": VALUES[thoughts[-1]]})
    listed = STEPS[thoughts[-1]] if thoughts else DIRECTIONS
    return "\n".join(f"{n}. {text}" for n, text in enumerate(listed, 1))


async def run(method: Method, answers: Any = reply, problem: Open | None = None, **settings: Any) -> tuple[Result, Scripted]:
    model = Scripted(answers)
    return await solve(problem or Open.parse(QUESTION), method, model, **settings), model


async def test_the_golden_tree_of_section_3() -> None:
    """Threshold 0.4, two levels. Always the best open node: 0.75, then 0.72, then 0.6.

    root -> 0.75 -> 0.82 0.70 0.68    means 0.785 0.725 0.715
         -> 0.72 -> 0.78 0.65         means 0.75  0.685
         -> 0.60 -> 0.35 0.20         both under 0.4 and pruned; the direction is left a leaf with 0.6
    The best path is the first with 0.82: confidence 0.785.
    """
    result, model = await run(OPEN_TASK.method("best_first", {"depth": 2, "prune_below": 0.4, "evaluate": "score"}))
    tree = [(node.label, node.value, node.fate.value) for node in result.tree if node.role != "answer"]
    assert tree == [
        ("0", 0.75, "kept"), ("1", 0.72, "kept"), ("2", 0.6, "kept"),
        ("0.0", 0.82, "kept"), ("0.1", 0.70, "kept"), ("0.2", 0.68, "kept"),
        ("1.0", 0.78, "kept"), ("1.1", 0.65, "kept"),
        ("2.0", 0.35, "pruned"), ("2.1", 0.2, "pruned"),
    ]  # fmt: skip
    assert result.path[:2] == [DIRECTIONS[0], STEPS[DIRECTIONS[0]][0]]
    assert result.confidence == pytest.approx(0.785)
    assert result.answer == "Use a shared, replicated store; signed cookies were the runner-up but cannot be revoked."
    assert result.solved is None
    assert not result.unfinished
    assert [request.role for request in model.requests].count("answer") == 1


async def test_the_answering_call_sees_the_best_path_and_the_strongest_rejected_branch_with_its_reason() -> None:
    result, model = await run(OPEN_TASK.method("best_first", {"depth": 2, "prune_below": 0.4, "evaluate": "score"}))
    asked = next(request for request in model.requests if request.role == "answer").messages[-1].content
    assert f"{DIRECTIONS[0]}\n{STEPS[DIRECTIONS[0]][0]}" in asked
    assert f"{DIRECTIONS[1]} -> {STEPS[DIRECTIONS[1]][0]}" in asked
    assert f"its confidence is 0.75, that of the chosen path {(0.75 + 0.82) / 2:.2f}" in asked
    assert f"the judge said: judged {STEPS[DIRECTIONS[1]][0]!r}" in asked
    picked = result.node.parent if result.node is not None else None
    assert strongest_rejected(result.tree, picked) is not None


async def test_directions_and_steps_have_calls_and_wordings_of_their_own() -> None:
    _, model = await run(OPEN_TASK.method("best_first", {"depth": 2, "prune_below": 0.4, "evaluate": "score"}))
    prompts = [request.messages[-1].content for request in model.requests if request.role == "generate"]
    assert len(prompts) == 4
    assert ["different directions" in prompt for prompt in prompts] == [True, False, False, False]
    assert ["concrete next steps" in prompt for prompt in prompts] == [False, True, True, True]


async def test_a_branch_that_was_pruned_or_dead_is_told_with_that_reason() -> None:
    def answers(request: Request, index: int) -> str:
        if request.role == "answer":
            return "Answer: one."
        return "1. Therefore take the first, because it is next\n2. maybe, perhaps\n3. That is impossible"

    result, model = await run(OPEN_TASK.method("best_first", {"depth": 1, "prune_below": 0.4}), answers)
    asked = model.requests[-1].messages[-1].content
    assert "maybe, perhaps\nWhy it was not taken: it was pruned, value 0.35 is below 0.4; the judge said: vague -0.1, depth -0.05" in asked
    dead = next(node for node in result.tree if node.status.kind is Kind.DEAD)
    assert dead.value == 0
    assert told(dead, None).endswith("it is a dead end (it says 'impossible')")


async def test_a_dead_end_is_never_the_answer_and_without_another_branch_none_is_named() -> None:
    def answers(request: Request, index: int) -> str:
        return "We do not know." if request.role == "answer" else "1. That is impossible\n2. There is no solution"

    result, model = await run(OPEN_TASK.method("best_first"), answers)
    assert result.path == ["Answer: We do not know."]
    assert "(none: there was no other branch)" in model.requests[-1].messages[-1].content
    assert result.confidence == 0


@pytest.mark.parametrize("method", OPEN_TASK.methods)
async def test_every_method_that_it_names_runs_and_answers(method: str) -> None:
    replies = {
        "evaluate": ('{"reason": "fine", "score": 0.7}\nScore: 50',),
        "generate": ("1. Look at the load first\n2. Look at the cost next\n3. Ask the users", "1. Try it\n2. Measure it", "Write it down."),
        "answer": ("It depends on the load.",),
    }
    rules = [Rule(texts, role) for role, texts in replies.items()]
    problem = Open.parse(QUESTION)
    built = OPEN_TASK.method(method)
    result, model = await run(built, rules, problem)
    assert result.answer
    assert result.solved is None
    assert model.calls <= estimate(problem, built).calls
    assert (built.answer is not None) == ("answer" in result.by_role)


@pytest.mark.parametrize(("method", "reason"), [("cot_sc", "no majority"), ("tot_bfs_refine", "branches that were compared")])
def test_a_method_that_makes_no_sense_is_refused_with_the_reason(method: str, reason: str) -> None:
    with pytest.raises(MethodError, match=reason):
        OPEN_TASK.method(method)
    with pytest.raises(UnknownName):
        OPEN_TASK.method("nonsense")


def test_its_default_is_best_first_with_the_heuristic() -> None:
    method = OPEN_TASK.method()
    assert (method.name, method.generate.k, method.max_nodes) == ("best_first", 3, 15)
    assert type(method.evaluate).__name__ == "Heuristic"
    search: Any = method.search
    assert (search.depth, search.prune_below, search.backtrack) == (3, 0.3, False)


@pytest.mark.parametrize("evaluate", ["heuristic", "score", "vote", "value"])
def test_the_evaluator_can_be_chosen(evaluate: str) -> None:
    assert type(OPEN_TASK.method("best_first", {"evaluate": evaluate}).evaluate).__name__.lower() == evaluate


def test_thoughts_are_one_line_and_nothing_is_said_twice_on_a_path() -> None:
    problem = Open.parse(QUESTION)
    assert problem.read((), "  **Use a\n queue**  ") == "Use a queue"
    with pytest.raises(Rejected, match="said before"):
        problem.read(("Use a queue.",), "use a QUEUE")
    with pytest.raises(Rejected, match="empty"):
        problem.read((), " ... ")


def test_a_whole_answer_is_marked_as_one_and_words_of_dead_ends_in_it_do_not_count() -> None:
    problem = Open.parse(QUESTION)
    text = problem.whole((), "<think>hm</think>Wait. The other way was impossible.")
    assert text == "Answer: Wait. The other way was impossible."
    assert problem.status((text,)) == COMPLETE
    assert problem.answer((text,)) == "Wait. The other way was impossible."
    assert problem.whole((), "Because.\nAnswer: wait") == "Because.\nAnswer: wait"
    with pytest.raises(Rejected):
        problem.whole((), "<think>cut off")
    assert problem.status(("Therefore look closer",)) == OPEN
    assert problem.answer(("Therefore look closer",)) is None
    assert problem.answer(("The answer is 42.",)) == "The answer is 42."


async def test_two_sentences_are_no_too_long_thought_in_any_script() -> None:
    long = "세션을 공유 저장소에 두면 어느 서버로 가도 로그인이 유지된다. " * 6
    result, _ = await run(OPEN_TASK.method("best_first", {"depth": 1}), [{"role": "answer", "replies": ["답: 둔다"]}, {"replies": [f"1. {long}"]}])
    assert next(iter(result.tree)).thought == long.strip()


def test_material_is_part_of_the_prompt_and_does_not_decide_the_language() -> None:
    problem = Open.parse(with_material("Is this design sound?", "한국어로 된 설계 문서입니다. 캐시를 사용합니다."))
    assert "Is this design sound?" in problem.prompt
    assert "캐시를" in problem.prompt
    assert problem.fields(())["language"] == "the language of the question"
    assert Open.parse("이 설계가 맞나요?").fields(())["language"] == "Korean"


def test_an_empty_question_and_a_public_set_that_it_has_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="empty question"):
        Open.parse("  ")
    with pytest.raises(UsageError, match="--input"):
        OPEN_TASK.items(tmp_path / "questions.jsonl")


def test_it_has_ten_questions_of_its_own_in_three_languages() -> None:
    problems = [Open.parse(item.input) for item in OPEN_TASK.items()]
    assert len({problem.prompt for problem in problems}) == 10
    assert {problem.fields(())["language"] for problem in problems} >= {"Chinese", "Korean"}


async def test_it_can_be_gone_on_with_and_pays_nothing_twice(tmp_path: Path) -> None:
    method = OPEN_TASK.method("best_first", {"depth": 2, "prune_below": 0.4, "evaluate": "score"})
    trace = tmp_path / "run.jsonl"
    first, _ = await run(method, trace=trace)
    again, model = await run(method, resume=trace)
    assert model.calls == 0
    assert again.to_json()["nodes"] == first.to_json()["nodes"]
    assert again.answer == first.answer
