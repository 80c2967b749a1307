"""Golden trees: hand-built replies, each worked through by hand against Algorithm 1 and 2 of Yao et al. 2023."""

from __future__ import annotations

from branchwise import OPEN, Beam, DepthFirst, Fate, Method, Propose, Result, Sample, Scripted, Status, Value, Vote, deepest, solve
from branchwise.problem import State
from branchwise.thought.parsing import Scale

TEN = Value(samples=1, scale=Scale(0, 10))


class Path:
    """Thoughts are letters; a state is their string. Equal letters in another order are one state."""

    prompt = "letters"
    prompts = {  # noqa: RUF012
        "propose": "P {{prompt}} [{{joined}}]", "sample": "S {{prompt}} [{{joined}}]", "value": "V {{prompt}} [{{joined}}]",
        "vote": "W {{prompt}} {{choices}}", "answer": "A {{prompt}} [{{joined}}]",
    }  # fmt: skip

    def status(self, state: State) -> Status:
        return OPEN

    def key(self, state: State) -> tuple[str, ...]:
        return tuple(sorted(state))

    def answer(self, state: State) -> str | None:
        return "".join(state) or None

    def fields(self, state: State) -> dict[str, str]:
        return {"joined": "".join(state)}


def script(proposals: dict[str, str], values: dict[str, str]) -> Scripted:
    """Replies by the letters so far; anything else is an error, so that no call goes unnoticed."""
    rules = [{"role": "generate", "contains": [f"[{state}]"], "replies": [reply]} for state, reply in proposals.items()]
    rules += [{"role": "evaluate", "contains": [f"[{state}]"], "replies": [reply]} for state, reply in values.items()]
    return Scripted(rules)


def tree(result: Result) -> list[tuple[str, str, float | None, str]]:
    """(id, letters, value, fate) in order of birth."""
    return [(node.label, "".join(node.state), node.value, node.fate.value) for node in result.tree]


async def test_beam_against_algorithm_1() -> None:
    """k = 3, b = 2, T = 3. Each step of Algorithm 1:

    S0 = {x}
    t=1  S'1 = {a, b, c}                                   V: a 0.9, b 0.4, c 0.6      S1 = {a, c}       (b is third)
    t=2  S'2 = {ab, ad, ae} from a, then c: ca, cd         ca is a new state; cd too
         ab 0.5, ad unknown, ae 0.7; ca 0.7, cd 0.2        S2 = {ae, ca}  (0.7 twice: ae was born first; the unknown one comes last)
    t=3  from ae: aeb 0.3; from ca: cab 0.8, and "e": {c, a, e} — is {a, e, c} there? not yet born; cae 0.8
         S3 = {cab, cae} (0.8 twice, by birth); the best is cab
    """
    model = script(
        {
            "": "1. a\n2. b\n3. c",
            "a": "1. b\n2. d\n3. e",
            "c": "1. a\n2. d",
            "ae": "1. b",
            "ca": "1. b\n2. e",
        },
        {
            "a": "Score: 9", "b": "Score: 4", "c": "Score: 6",
            "ab": "Score: 5", "ad": "I cannot say", "ae": "Score: 7", "ca": "Score: 7", "cd": "Score: 2",
            "aeb": "Score: 3", "cab": "Score: 8", "cae": "Score: 8",
        },
    )  # fmt: skip
    result = await solve(Path(), Method(generate=Propose(k=3), evaluate=TEN, search=Beam(breadth=2, depth=3)), model)
    assert tree(result) == [
        ("0", "a", 0.9, "kept"),
        ("1", "b", 0.4, "pruned"),
        ("2", "c", 0.6, "kept"),
        ("0.0", "ab", 0.5, "pruned"),
        ("0.1", "ad", None, "pruned"),
        ("0.2", "ae", 0.7, "kept"),
        ("2.0", "ca", 0.7, "kept"),
        ("2.1", "cd", 0.2, "pruned"),
        ("0.2.0", "aeb", 0.3, "pruned"),
        ("2.0.0", "cab", 0.8, "kept"),
        ("2.0.1", "cae", 0.8, "kept"),
    ]
    assert result.stop_reason == "max_depth"
    assert result.answer == "cab"
    assert result.usage.calls == 5 + 11
    assert [request.messages[-1].content for request in model.requests if request.role == "generate"] == [
        "P letters []", "P letters [a]", "P letters [c]", "P letters [ae]", "P letters [ca]",
    ]  # fmt: skip
    assert result.tree.unparsed == 1


async def test_beam_merges_before_it_judges_and_never_takes_two_places_for_one_state() -> None:
    """Case 54. S'2 from a: ab; from b: ba (the same state as ab: merged, not judged), bc. With b = 2 both places go to different states."""
    model = script(
        {"": "1. a\n2. b", "a": "1. b", "b": "1. a\n2. c"}, {"a": "Score: 9", "b": "Score: 8", "ab": "Score: 9", "bc": "Score: 1"}
    )
    result = await solve(Path(), Method(generate=Propose(k=2), evaluate=TEN, search=Beam(breadth=2, depth=2)), model)
    assert tree(result) == [("0", "a", 0.9, "kept"), ("1", "b", 0.8, "kept"), ("0.0", "ab", 0.9, "kept"), ("1.1", "bc", 0.1, "kept")]
    assert result.tree.counts().merged == 1
    assert result.tree.nodes[3].arrivals == 2
    assert [request.role for request in model.requests].count("evaluate") == 4


async def test_beam_with_a_vote_compares_the_whole_level_at_once() -> None:
    """Level 2 holds ab (of a) and cd, ce (of c): one prompt with three choices; votes 2, 2, 3 give 0, 2/3, 1/3."""
    model = Scripted(
        [
            {"role": "generate", "contains": ["[]"], "replies": ["a", "c"]},
            {"role": "generate", "contains": ["[a]"], "replies": ["b", "b"]},
            {"role": "generate", "contains": ["[c]"], "replies": ["d", "e"]},
            {
                "role": "evaluate",
                "contains": ["Choice 3:\nc\ne"],
                "replies": ["The best choice is 2", "The best choice is 2.", "best choice: 3"],
            },
            {"role": "evaluate", "contains": ["Choice 2:\nc"], "replies": ["The best choice is 1", "I like both", "The best choice is 2"]},
        ]
    )
    result = await solve(Path(), Method(generate=Sample(k=2), evaluate=Vote(votes=3), search=Beam(breadth=2, depth=2)), model)
    assert [(letters, value) for _, letters, value, _ in tree(result)] == [
        ("a", 0.5),
        ("c", 0.5),
        ("ab", 0.0),
        ("cd", 2 / 3),
        ("ce", 1 / 3),
    ]
    assert result.answer == "cd"
    assert result.tree.counts().merged == 1
    assert result.tree.unparsed == 2, "one vote that could not be read is a sample of each of the two states"


async def test_dfs_against_algorithm_2() -> None:
    """T = 3, v_th = 0.3. Each step of Algorithm 2:

    DFS(x)      children by confidence: b (certain), a (low), c (none)
      b 0.8     > 0.3, go down
        bc 0.3  not > 0.3: pruned
        bd 0.5  go down
          bde 0.9   t = T: output
          bdf 0.2   pruned, though it is as deep
      a 0.1     pruned; its subtree is never asked for
      c unknown is no reason to prune; go down: nothing comes
    Output: the deepest visited, the first one: bde. Seven states visited.
    """
    model = script(
        {"": "1. a (low)\n2. b (certain)\n3. c", "b": "1. c (high)\n2. d (medium)", "bd": "1. e\n2. f", "c": ""},
        {
            "b": "Score: 8", "bc": "Score: 3", "bd": "Score: 5", "bde": "Score: 9", "bdf": "Score: 2", "a": "Score: 1", "c": "no idea",
        },
    )  # fmt: skip
    search = DepthFirst(depth=3, prune_at=0.3, max_steps=100)
    result = await solve(Path(), Method(generate=Propose(k=3), evaluate=TEN, search=search, pick=deepest), model)
    judged = [request.messages[-1].content.split("[")[1][:-1] for request in model.requests if request.role == "evaluate"]
    assert judged == ["b", "bc", "bd", "bde", "bdf", "a", "c"]
    expanded = [request.messages[-1].content.split("[")[1][:-1] for request in model.requests if request.role == "generate"]
    assert expanded == ["", "b", "bd", "c"]
    assert [node.decided for node in result.tree] == [1, 6, 7, 2, 3, 4, 5]
    assert tree(result) == [
        ("0", "b", 0.8, "kept"),
        ("1", "a", 0.1, "pruned"),
        ("2", "c", None, "kept"),
        ("0.0", "bc", 0.3, "pruned"),
        ("0.1", "bd", 0.5, "kept"),
        ("0.1.0", "bde", 0.9, "kept"),
        ("0.1.1", "bdf", 0.2, "pruned"),
    ]
    assert result.answer == "bde"
    assert result.stop_reason == "exhausted"


async def test_dfs_gives_the_deepest_state_pruned_ones_included_the_first_visited_on_ties() -> None:
    model = script({"": "1. a\n2. b", "a": "1. c", "b": "1. d"}, {"a": "Score: 9", "ac": "Score: 0", "b": "Score: 9", "bd": "Score: 9"})
    result = await solve(Path(), Method(generate=Propose(k=2), evaluate=TEN, search=DepthFirst(depth=2), pick=deepest), model)
    assert result.answer == "ac"
    assert result.node is not None
    assert result.node.fate is Fate.PRUNED


async def test_dfs_stops_after_max_steps_and_says_so() -> None:
    proposals = {"": "1. a\n2. b", "a": "1. c", "ac": "1. d"}
    values = {"a": "Score: 9", "ac": "Score: 9", "acd": "Score: 9", "b": "Score: 9"}
    for steps, visited in ((1, "a"), (2, "ac"), (3, "acd")):
        model = script(proposals, values)
        search = DepthFirst(depth=5, max_steps=steps)
        result = await solve(Path(), Method(generate=Propose(k=2), evaluate=TEN, search=search, pick=deepest), model)
        assert result.answer == visited
        assert result.stop_reason == "budget:steps"
        assert result.unfinished
        assert sum(request.role == "evaluate" for request in model.requests) == steps
        assert "b" not in [r.messages[-1].content for r in model.requests if r.role == "evaluate"]


async def test_dfs_that_ends_at_the_last_step_of_a_chain_is_cut_short_not_exhausted() -> None:
    model = script({"": "1. a", "a": "1. b", "ab": "1. c"}, {"a": "Score: 9", "ab": "Score: 9"})
    result = await solve(Path(), Method(generate=Propose(k=1), evaluate=TEN, search=DepthFirst(depth=5, max_steps=2)), model)
    assert result.stop_reason == "budget:steps"


async def test_dfs_with_a_vote_compares_the_children_of_one_expansion_once() -> None:
    model = Scripted(
        [
            {"role": "generate", "contains": ["[]"], "replies": ["1. a\n2. b\n3. c"]},
            {"role": "generate", "replies": ["none of the steps helps:"]},
            {"role": "evaluate", "contains": ["Choice 3:\nc"], "replies": ["The best choice is 3"]},
        ]
    )
    result = await solve(Path(), Method(generate=Propose(k=3), evaluate=Vote(votes=4), search=DepthFirst(depth=2)), model)
    assert [(letters, value, fate) for _, letters, value, fate in tree(result)] == [
        ("a", 0, "pruned"),
        ("b", 0, "pruned"),
        ("c", 1, "kept"),
    ]
    assert sum(request.role == "evaluate" for request in model.requests) == 1
