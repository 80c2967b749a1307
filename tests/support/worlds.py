"""Toy problems whose truth and whose model replies are pure functions. Knows no engine and no search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from branchwise import COMPLETE, OPEN, SOLVED, Rejected, Request, State, Status, dead

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hog")
CONFIDENCES = (" (certain)", " (high)", " (medium)", " (low)", "", "")
GARBAGE = ("", "   ", "Sure, here are some:", "I cannot judge that.", "<think>hm")

PROMPTS = {
    "io": "IO\n{{prompt}}",
    "cot": "COT\n{{prompt}}",
    "sample": "SAMPLE\n{{prompt}}\n{{thoughts}}",
    "propose": "PROPOSE {{k}}\n{{prompt}}\n{{thoughts}}",
    "refine": "REFINE\n{{prompt}}\n{{thoughts}}",
    "value": "VALUE\n{{prompt}}\n{{thoughts}}",
    "vote": "VOTE {{k}}\n{{prompt}}\n{{choices}}",
    "answer": "ANSWER\n{{prompt}}\n{{thoughts}}",
    "score": "SCORE\n{{prompt}}\n{{thoughts}}",
    "reward": "REWARD\n{{prompt}}\n{{last}}",
    "critique": "CRITIQUE\n{{prompt}}\n{{last}}",
}


@dataclass(frozen=True)
class Toy:
    """A random tree of words. With `merge` the order of words does not matter; a share of the states is dead, complete or solved.

    Replies depend on the prompt and on the sample's index, or (`by_seed`) on its seed. A share of them is `malformed`.
    """

    seed: int = 0
    branching: int = 4
    merge: bool = True
    dead: float = 0.15
    complete: float = 0.1
    solved: float = 0.0
    malformed: float = 0.1
    by_seed: bool = True
    full: bool = False
    """Every list has exactly `branching` thoughts, each sample of a state is another word."""
    reversible: bool = True
    provable: bool = False
    prompts: dict[str, str] = field(default_factory=lambda: PROMPTS, hash=False)

    @property
    def prompt(self) -> str:
        return f"toy {self.seed}"

    def draw(self, *what: object) -> Random:
        """Chance that is the same for the same `what`."""
        return Random(f"{self.seed}|{'|'.join(map(str, what))}")

    def key(self, state: State) -> tuple[str, ...]:
        return tuple(sorted(state)) if self.merge else state

    def status(self, state: State) -> Status:
        if not state:
            return OPEN
        if state[-1].startswith("answer"):
            return COMPLETE
        point = self.draw("status", self.key(state)).random()
        for share, status in ((self.dead, dead("a pit")), (self.complete, COMPLETE), (self.solved, SOLVED)):
            if point < share:
                return status
            point -= share
        return OPEN

    def answer(self, state: State) -> str | None:
        return state[-1] if state and self.status(state) in (COMPLETE, SOLVED) else None

    def read(self, state: State, text: str) -> str:
        if not self.full and state and text == state[-1]:
            raise Rejected("said already")
        return text

    def reply(self, request: Request, i: int) -> str:
        """The text of sample `i` of `request`."""
        index = request.first + i
        return self.text(request.messages[-1].content, request.seeds[i] if self.by_seed and request.seeds else index, index)

    def text(self, prompt: str, pick: object, index: int = 0) -> str:
        """What the model says to `prompt`."""
        rng, kind = self.draw(prompt, pick), prompt.split("\n")[0].split()[0]
        if rng.random() < self.malformed:
            return rng.choice(GARBAGE)
        if kind == "PROPOSE":
            words = [rng.choice(WORDS) for _ in range(rng.randint(0, self.branching))]
            if self.full:
                words = [f"{word}{n}" for n, word in enumerate(WORDS[: self.branching])]
            return "\n".join(f"{n}. {word}{rng.choice(CONFIDENCES)}" for n, word in enumerate(words, 1))
        if kind == "VALUE":
            return "I think.\n" + rng.choice(("sure", "likely", "likely", "impossible"))
        if kind == "VOTE":
            return f"The best choice is {rng.randint(1, int(prompt.split()[1]))}."
        if kind == "SCORE":
            return f'{{"score": {rng.choice((0, 0.2, 0.5, 0.5, 0.8, 1))}, "reason": "so"}}'
        if kind == "REWARD":
            return f"Score: {rng.choice((-100, -20, 0, 40, 80, 99))}"
        if kind == "ANSWER":
            return f"answer {rng.choice(WORDS)}"
        return f"w{index}" if self.full else rng.choice(WORDS)


@dataclass(frozen=True)
class Drawn:
    """A tree that is written down: children and values by state. Everything else is open, unless said otherwise."""

    children: dict[State, list[str]]
    values: dict[State, float | None] = field(default_factory=dict)
    statuses: dict[State, Status] = field(default_factory=dict)
    canon: Callable[[State], object] = lambda state: state
    prompt: str = "drawn"
    reversible: bool = True
    provable: bool = False

    def status(self, state: State) -> Status:
        return self.statuses.get(state, OPEN)

    def key(self, state: State) -> object:
        return self.canon(state)

    def answer(self, state: State) -> str | None:
        return state[-1] if state and self.status(state) in (COMPLETE, SOLVED) else None


def random_tree(rng: Random, depth: int = 4, width: int = 3, *, statuses: bool = True, merge: bool = True) -> Drawn:
    """A tree that is drawn by chance; with `merge` the order of thoughts does not matter."""
    children: dict[State, list[str]] = {}
    values: dict[State, float | None] = {}
    found: dict[State, Status] = {}
    level: list[State] = [()]
    for _ in range(depth):
        following = []
        for state in level:
            words = [rng.choice("abcdef") if merge else f"{len(following)}{i}" for i in range(rng.randint(0, width))]
            children[state] = words
            for word in words:
                child = (*state, word)
                values.setdefault(child, rng.choice((None, 0.0, 0.25, 0.5, 0.5, 0.75, 1.0)))
                if statuses:
                    found[child] = rng.choice((OPEN, OPEN, OPEN, OPEN, COMPLETE, dead("x")))
                following.append(child)
        level = following
    canon = (lambda state: tuple(sorted(state))) if merge else (lambda state: state)
    if merge:
        values = {state: values[min(s for s in values if sorted(s) == sorted(state))] for state in values}
    return Drawn(children, values, found, canon)
