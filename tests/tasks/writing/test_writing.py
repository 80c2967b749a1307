"""Creative writing: the constraint by program, plan then passage, votes among those that keep it, refinement that knows when to stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise import METHODS, OPEN, Kind, MethodError, Rejected, Request, UsageError, Vote, estimate, solve
from branchwise.tasks.writing import WRITING, Writing, faults, paragraphs, sentences_of
from branchwise.tasks.writing.rules import ends_with
from branchwise.thought.without_faults import WithoutFaults
from support.data import shared
from support.models import FakeModel

INPUT = WRITING.items()[0].input
SENTENCES = sentences_of(INPUT)
GOOD = "\n\n".join(f"Something happens. {sentence}" for sentence in SENTENCES)
BAD = "It was a dark night.\n\nNothing happened.\n\nReally.\n\nThe end."


@pytest.fixture
def problem() -> Writing:
    return Writing.parse(INPUT)


def passage(body: str = GOOD) -> str:
    return f"Passage:\n{body}"


def test_four_sentences_are_read_one_a_line_numbered_or_all_in_one() -> None:
    assert sentences_of("\n".join(f"{n}. {s}" for n, s in enumerate(SENTENCES, 1))) == SENTENCES
    assert sentences_of(" ".join(SENTENCES)) == SENTENCES
    assert sentences_of('He said "no." She left! Why? It rained.')[0] == 'He said "no."'


@pytest.mark.parametrize("text", ["", "One. Two. Three.", "a\nb\nc\nd\ne", "x" * 500 + "\nb\nc\nd"])
def test_other_inputs_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"one a line, for example:\nThe bus never came\."):
        Writing.parse(text)


def test_twenty_inputs_of_our_own_have_four_different_sentences_each() -> None:
    items = WRITING.items()
    sentences = [sentence for item in items for sentence in sentences_of(item.input)]
    assert (len(items), len(set(sentences))) == (20, 80)


def test_every_published_input_has_four_sentences() -> None:
    items = WRITING.items(shared("creative_writing/data_100_random_text.txt"))
    assert len(items) == 100
    for item in items:
        assert "".join("".join(sentences_of(item.input)).split()) == "".join(item.input.split())


def test_a_file_without_inputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("\n\n")
    with pytest.raises(UsageError, match="holds no inputs"):
        WRITING.items(tmp_path / "f.txt")
    with pytest.raises(UsageError, match="cannot read"):
        WRITING.items(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("paragraph", "ends"),
    [
        ("Well. The bus never came.", True),
        ("The bus never came.", True),
        ("She wrote: “The bus never came!”", True),
        ("Well. **The bus never came.**", True),
        ("Well. the  bus never\ncame", True),
        ("The bus never came. Or did it?", False),
        ("Well, then the busnever came.", False),
        ("An omnibus never came.", False),
        ("The bus never came back.", False),
        ("", False),
    ],
)
def test_a_paragraph_ends_with_the_words_of_its_sentence(paragraph: str, ends: bool) -> None:
    assert ends_with(paragraph, "The bus never came.") is ends


def test_paragraphs_are_parted_by_blank_lines_or_else_by_lines() -> None:
    assert len(paragraphs(GOOD)) == 4
    assert len(paragraphs(GOOD.replace("\n\n", "\n"))) == 4
    assert len(paragraphs(f"# The Bus\n\n{GOOD}")) == 4
    assert len(paragraphs("One.\nstill one.\n\nTwo.")) == 2


def test_what_a_passage_breaks_is_named() -> None:
    assert faults(SENTENCES, GOOD) == []
    assert faults(SENTENCES, BAD) == [f"paragraph {n} does not end with its sentence" for n in (1, 2, 3, 4)]
    assert faults(SENTENCES, "Only one.") == ["1 paragraph, not 4"]


def test_a_passage_is_complete_and_says_what_it_breaks(problem: Writing) -> None:
    assert problem.status(("Plan:\nshort",)) == OPEN
    assert problem.status((passage(),)).reason == ""
    broken = problem.status(("Plan:\nshort", passage("Only one.")))
    assert (broken.kind, broken.reason) == (Kind.COMPLETE, "1 paragraph, not 4")
    assert problem.answer((passage(),)) == GOOD
    assert problem.answer(("Plan:\nshort",)) is None


def test_a_plan_is_read_without_a_passage_written_behind_it_and_a_passage_without_a_plan(problem: Writing) -> None:
    assert problem.read((), f"**Plan:**\n1. Start.\n\nPassage:\n{GOOD}") == "Plan:\n1. Start."
    assert problem.read(("Plan:\n1",), f"Plan: again\n\nPassage:\n{GOOD}") == passage()
    assert problem.read(("Plan:\n1",), GOOD) == passage()
    for state, text in (((), passage()), ((), "<think>x</think>"), (("Plan:\n1",), "Passage:\n"), ((passage(),), GOOD)):
        with pytest.raises(Rejected):
            problem.read(state, text)


@pytest.mark.parametrize(
    ("reply", "same"),
    [
        ("The passage is perfectly coherent.", True),
        ("I think it is already perfectly coherent, no change.", True),
        (f"The passage is perfectly coherent.\n\nPassage:\n{BAD}", True),
        (f"The passage is not perfectly coherent.\n\nPassage:\n{BAD}", False),
        (f"It is weak.\n\nPassage:\n{BAD}", False),
    ],
)
def test_a_passage_that_the_model_calls_perfectly_coherent_stays(problem: Writing, reply: str, same: bool) -> None:
    assert problem.whole((passage(),), reply) == passage(GOOD if same else BAD)


async def test_votes_are_held_among_passages_that_keep_the_constraint(problem: Writing) -> None:
    model = FakeModel(lambda request, i: f"The best choice is {1 + i % 2}")
    states = [("Plan:\n1", passage(BAD)), ("Plan:\n1", passage()), ("Plan:\n1", passage(f"So. {GOOD}"))]
    found = await WithoutFaults(Vote(votes=4))(model, problem, states)
    assert [one.value for one in found] == [0, 0.5, 0.5]
    assert found[0].reason == "; ".join(faults(SENTENCES, BAD))
    assert "dark night" not in model.requests[0].messages[-1].content
    assert (await WithoutFaults(Vote())(model, problem, states[:2]))[1].value == 1
    assert model.calls == 4


async def test_where_every_passage_breaks_it_all_of_them_are_compared(problem: Writing) -> None:
    model = FakeModel(lambda request, i: "The best choice is 2")
    found = await WithoutFaults(Vote(votes=2))(model, problem, [("Plan:\n1", passage(BAD)), ("Plan:\n1", passage("One."))])
    assert [one.value for one in found] == [0, 1]


def writer(good: int, coherent: bool = False) -> FakeModel:
    """Of five passages one keeps the constraint; refinement says that it is coherent, or writes a better one."""

    def reply(request: Request, i: int) -> str:
        text = request.messages[-1].content
        if request.role == "evaluate":
            return "The best choice is 1"
        if "cannot be made better" in text:
            return (
                "The passage is perfectly coherent." if coherent else f"Weak.\n\nPassage:\n{'Better. ' * (1 + text.count('Better.'))}{GOOD}"
            )
        return f"Plan:\nplan {i}\n\nPassage:\n{GOOD if i == good else f'{i} {BAD}'}"

    return FakeModel(reply)


async def test_the_default_method_samples_five_plans_and_five_passages_with_votes(problem: Writing) -> None:
    model = writer(2)
    result = await solve(problem, WRITING.method(), model)
    assert result.answer == GOOD
    roles = [(request.role, request.n) for request in model.requests]
    assert roles == [("generate", 5), ("evaluate", 5), ("generate", 5)]
    assert "make a brief plan" in model.requests[0].messages[-1].content.lower()
    assert "Choice 5:\nPlan:" in model.requests[1].messages[-1].content
    assert result.usage.calls <= estimate(problem, WRITING.method()).calls


async def test_refinement_sees_the_last_passage_only_and_stops_when_it_is_called_coherent(problem: Writing) -> None:
    model = writer(2, coherent=True)
    result = await solve(problem, WRITING.method("tot_bfs_refine"), model)
    asked = [request for request in model.requests if "cannot be made better" in request.messages[-1].content]
    assert len(asked) == 1
    assert "every paragraph ends with its sentence" in asked[0].messages[-1].content
    assert "Plan:" not in asked[0].messages[-1].content
    assert result.answer == GOOD
    assert result.stop_reason == "exhausted"


async def test_refinement_has_five_rounds_and_answers_with_the_last_rewrite(problem: Writing) -> None:
    model = writer(2)
    result = await solve(problem, WRITING.method("tot_bfs_refine"), model)
    asked = [request for request in model.requests if "cannot be made better" in request.messages[-1].content]
    assert len(asked) == 5
    assert result.path[-1] == passage(result.answer or "")
    assert len(result.path) == 7
    assert result.stop_reason == "max_depth"


@pytest.mark.parametrize("name", WRITING.methods)
async def test_every_method_runs_and_gives_a_passage(problem: Writing, name: str) -> None:
    def reply(request: Request, i: int) -> str:
        if request.role == "evaluate":
            return "The best choice is 1" if "Choice 1:" in request.messages[-1].content else '{"score": 0.6}\nScore: 10'
        return f"Plan:\nplan {i}\n\nPassage:\n{GOOD}"

    result = await solve(problem, WRITING.method(name), FakeModel(reply))
    assert result.answer == GOOD


def test_every_method_is_taken_or_refused() -> None:
    assert set(METHODS) == set(WRITING.methods) | set(WRITING.refused)
    with pytest.raises(MethodError, match="no majority"):
        WRITING.method("cot_sc")


def test_sampling_reaches_the_parts_inside_of_parts() -> None:
    from branchwise import with_sampling

    method = WRITING.method("tot_bfs_refine")
    evaluate = with_sampling(method.evaluate, temperature=0.1)
    generate = with_sampling(method.generate, max_tokens=77)
    assert evaluate.evaluate.sampling.temperature == 0.1  # type: ignore[union-attr]
    assert generate.open.sampling.max_tokens == generate.complete.sampling.max_tokens == 77  # type: ignore[attr-defined]
