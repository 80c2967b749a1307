"""Prompts: only declared placeholders are filled, any other brace is text, and the bound of tokens is a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise import OPEN, Size, Status
from branchwise.errors import PromptError
from branchwise.problem import State, field_bytes
from branchwise.thought.asking import render
from branchwise.thought.prompts import Prompt, load_folder, prompt_for
from support.worlds import Toy

LATEX = r"Let A = {1; 2; 3}. Find $\sum_{i=1}^{n} \frac{1}{i}$. {{not a mark}} {{}} {0} {x!r} %s %(x)s {{{"


class Task:
    """A problem with a field of its own, which can be longer than prompt and thoughts by 40 bytes."""

    field_bytes = 40

    def __init__(self, prompt: str = "x", **prompts: str) -> None:
        self.prompt, self.prompts = prompt, prompts

    def status(self, state: State) -> Status:
        return OPEN

    def key(self, state: State) -> State:
        return state

    def answer(self, state: State) -> str | None:
        return None

    def fields(self, state: State) -> dict[str, str]:
        return {"left": (self.prompt + "|".join(state))[:1000] + "!" * 40}


def user(task: Task, name: str, state: State = (), **more: str) -> str:
    return render(task, name, state, more)[1].content


def test_braces_are_text() -> None:
    """Case 14."""
    template = '{{prompt}} Reply as {"score": 1}, {x}, {0}, \\frac{1}{2}, {{ prompt }} and }}{{.'
    assert user(Task(LATEX, own=template), "own") == template.replace("{{prompt}}", LATEX)


def test_a_value_is_never_expanded_again() -> None:
    task = Task("{{thoughts}}", own="{{prompt}} / {{thoughts}}")
    assert user(task, "own", ("{{prompt}}", "{{last}}")) == "{{thoughts}} / {{prompt}}\n{{last}}"


def test_backslashes_of_a_value_are_text() -> None:
    assert user(Task(r"\1 \g<0> \n", own="{{prompt}}"), "own") == r"\1 \g<0> \n"


@pytest.mark.parametrize("name", ["prompts", "thought", "choice", "format"])
def test_an_unknown_placeholder_is_named_when_the_prompt_is_loaded_with_the_nearest_names(name: str) -> None:
    with pytest.raises(PromptError, match=rf"'own'.*\{{\{{{name}\}}\}}") as caught:
        user(Task(own="{{prompt}} {{" + name + "}}"), "own")
    assert name == "format" or "did you mean" in str(caught.value)


def test_a_prompt_without_any_placeholder_is_refused() -> None:
    with pytest.raises(PromptError, match="own"):
        user(Task(own="Just answer."), "own")


def test_a_value_that_this_use_does_not_have_is_named() -> None:
    with pytest.raises(PromptError, match="choices"):
        user(Task(own="{{prompt}} {{choices}}"), "own")


def test_a_problems_own_fields_can_be_used_and_unknown_prompts_are_named() -> None:
    assert user(Task("p", own="{{left}}"), "own", ("a",)).startswith("pa!")
    with pytest.raises(PromptError, match="no prompt 'nothing'"):
        user(Task(), "nothing")


def test_the_system_message_can_be_set() -> None:
    system, message = render(Task("p", own="---system---\nBe {{prompt}}.\n---user---\nGo {{prompt}}.\n"), "own", (), {})
    assert (system.role, system.content, message.role, message.content) == ("system", "Be p.", "user", "Go p.")
    system, _ = render(Task("p", own="{{prompt}}"), "own", (), {})
    assert system.content


GENERIC = ["answer", "cot", "io", "propose", "refine", "sample", "value", "vote"]


@pytest.mark.parametrize("name", GENERIC)
def test_generic_prompts_show_the_problem_and_share_their_beginning(name: str) -> None:
    first = user(Task("problem one"), name, ("s",), k="3", choices="Choice 1:\na")
    second = user(Task("another"), name, ("t",), k="3", choices="Choice 1:\nb")
    assert "problem one" in first
    shared = next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert shared >= first.index("problem one"), "the instructions come first, byte for byte the same"


texts = st.text(max_size=60)


@settings(max_examples=200, deadline=None)
@given(texts, st.lists(texts, max_size=5), st.sampled_from([*GENERIC, "own"]), st.integers(1, 5))
def test_the_bound_of_tokens_is_no_less_than_the_bytes_of_the_rendered_prompt(
    prompt: str, state: list[str], name: str, choices: int
) -> None:
    task = Task(
        prompt, own="---system---\n{{left}} {{prompt}}\n---user---\n{{left}}{{left}}{{thoughts}}{{last}}{{k}}{{choices}}{{prompt}}\n"
    )
    thoughts = tuple(state)
    group = "\n\n".join(f"Choice {n}:\n" + "\n".join(thoughts) for n in range(1, choices + 1))
    messages = render(task, name, thoughts, {"k": "12345678", "choices": group})
    size = Size(len(prompt.encode("utf-8", "replace")), sum(len(t.encode("utf-8", "replace")) + 1 for t in thoughts))
    written = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
    assert field_bytes(task) == 40
    assert prompt_for(task, name).tokens(task, size, choices) >= written + 64 * len(messages)


def test_a_larger_state_has_a_larger_bound() -> None:
    task = Task("p")
    bounds = [prompt_for(task, "propose").tokens(task, Size(1, n)) for n in (0, 10, 100)]
    assert bounds == sorted(bounds)
    assert bounds[2] - bounds[0] == 100


def test_a_folder_of_prompts(tmp_path: Path) -> None:
    (tmp_path / "value.txt").write_text("V {{prompt}} 木", "utf-8")
    (tmp_path / "notes.md").write_text("not a prompt")
    assert load_folder(tmp_path, ["value", "vote"]) == {"value": "V {{prompt}} 木"}
    (tmp_path / "vaule.txt").write_text("{{prompt}}")
    with pytest.raises(PromptError, match=r"vaule\.txt.*did you mean 'value'"):
        load_folder(tmp_path, ["value", "vote"])
    for nothing in (tmp_path / "missing", tmp_path / "value.txt"):
        with pytest.raises(PromptError, match=r"no \.txt prompts"):
            load_folder(nothing, ["value"])


def test_a_parsed_prompt_is_a_value() -> None:
    assert Prompt.parse("a", "{{prompt}}") == Prompt.parse("a", "{{prompt}}\n")


async def test_a_bad_prompt_ends_a_run_with_its_own_error(tmp_path: Any) -> None:
    from branchwise import preset, solve
    from support.models import FakeModel, silent

    result = await solve(Task("x", propose="{{prompt}} {{thougths}}"), preset("tot_bfs").make(), FakeModel(silent))
    assert result.stop_reason == "failed"
    assert "did you mean 'thoughts'" in result.error
    assert result.usage.calls == 0


def test_turns_of_a_conversation_become_messages_and_are_bounded():
    prompt = Prompt.parse("p", "---system---\nBe brief.\n---user---\n1 2\n---assistant---\n3\n---user---\n{{prompt}}\n")
    messages = prompt.render({"prompt": "4 5"})
    assert [(m.role, m.content) for m in messages] == [("system", "Be brief."), ("user", "1 2"), ("assistant", "3"), ("user", "4 5")]
    size = Size(3, 0)
    assert prompt.tokens(Toy(), size) >= sum(len(m.content) + 64 for m in messages)


@pytest.mark.parametrize(
    "text", ["{{prompt}}\n---assistant---\n3\n", "{{prompt}}\n---user---\n3\n", "a\n---assistant---\nb\n---assistant---\n{{prompt}}"]
)
def test_turns_that_do_not_alternate_or_end_with_the_model_are_refused(text):
    with pytest.raises(PromptError, match="take turns"):
        Prompt.parse("p", text)


@pytest.mark.parametrize(("name", "mark"), [("value", "choices"), ("propose", "critique"), ("vote_first", "rejected"), ("answer", "choices")])
def test_a_placeholder_that_a_generic_prompt_never_has_is_refused_when_it_is_read(name: str, mark: str) -> None:
    with pytest.raises(PromptError, match=f"prompt '{name}' has an unknown placeholder {{{{{mark}}}}}"):
        Prompt.parse(name, f"{{{{prompt}}}} {{{{{mark}}}}}")


def test_a_prompt_of_a_name_of_ones_own_may_have_any() -> None:
    for mark in ("choices", "critique", "rejected"):
        assert Prompt.parse("mine", f"{{{{prompt}}}} {{{{{mark}}}}}").name == "mine"
