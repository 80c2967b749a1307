"""What may succeed is tried again within the deadline; what cannot is not (cases 61, 72, 73)."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from branchwise.budget import Bound, Usage
from branchwise.errors import ContextOverflow, ModelError, OutOfBudget, PermanentError, RateLimited, TransientError, UsageError
from branchwise.model.base import CallId, Message, Outcome, Reply, Request, Sample
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.scripted import Scripted

REQUEST = Request((Message("user", "x"),))


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)


def failing(*errors: ModelError) -> tuple[Scripted, Callable[[], int]]:
    """A model that raises these errors in turn and then answers, and how often it was asked."""
    left = list(errors)
    model = Scripted(lambda r, i: answer())

    def answer() -> str:
        if left:
            raise left.pop(0)
        return "fine"

    return model, lambda: len(model.requests)


async def retried(policy: RetryPolicy, *errors: ModelError, request: Request = REQUEST) -> tuple[Reply | ModelError, int, list[float]]:
    clock = Clock()
    model, asked = failing(*errors)
    try:
        reply: Reply | ModelError = await Retrying(model, policy, sleep=clock.sleep, clock=lambda: clock.now).sample(request)
    except ModelError as error:
        reply = error
    return reply, asked(), clock.waits


async def test_a_transient_error_is_tried_again() -> None:
    reply, asked, waits = await retried(RetryPolicy(), TransientError("a"), TransientError("b"))
    assert isinstance(reply, Reply)
    assert asked == 3
    assert 0.25 < waits[0] <= 0.5
    assert 0.5 < waits[1] <= 1.0


async def test_attempts_are_limited_and_told() -> None:
    reply, asked, _ = await retried(RetryPolicy(attempts=3), *[TransientError("down")] * 9)
    assert str(reply) == "down (tried 3 times)"
    assert asked == 3
    assert Retrying(Scripted([]), RetryPolicy(attempts=3)).attempts == 3


@pytest.mark.parametrize("error", [PermanentError("x"), ContextOverflow("x"), ModelError("x")])
async def test_permanent_errors_are_not_tried_again(error: ModelError) -> None:
    reply, asked, _ = await retried(RetryPolicy(), error)
    assert reply is error
    assert asked == 1


async def test_the_wait_of_the_server_is_honoured() -> None:
    _, asked, waits = await retried(RetryPolicy(), RateLimited("a", 120.0), RateLimited("b", 0.25), RateLimited("c"))
    assert waits[:2] == [120.0, 0.25]
    assert 0 < waits[2] <= 2
    assert asked == 4


async def test_a_wait_past_the_deadline_is_not_begun() -> None:
    reply, asked, waits = await retried(RetryPolicy(deadline=60), RateLimited("slow down", 120.0))
    assert isinstance(reply, RateLimited)
    assert "deadline of 60 s" in str(reply)
    assert (asked, waits) == (1, [])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RateLimited("slow down", 120.0), "rate-limited by the server, which asked for 120 s; the run has 2 s left, so it ends without another try"),
        (RateLimited("slow down"), "rate-limited by the server; the run has 0.1 s left"),
        (TransientError("slow down"), "the model failed; the run has 0.1 s left"),
    ],
)
async def test_a_wait_past_the_end_of_the_run_is_not_begun_and_told_once(error: TransientError, told: str) -> None:
    left = 2.0 if isinstance(error, RateLimited) and error.retry_after else 0.1
    clock, said = Clock(), list[str]()
    model, asked = failing(error, error)
    late: Callable[[float], float | None] = lambda wait: left if wait >= left else None  # noqa: E731
    patient = Retrying(model, sleep=clock.sleep, clock=lambda: clock.now, late=late, notice=said.append)
    for _ in range(2):
        with pytest.raises(OutOfBudget) as stop:
            await patient.sample(REQUEST)
        assert (stop.value.limit, stop.value.reply) == ("seconds", None)
    assert (asked(), clock.waits) == (2, [])
    (text,) = said
    assert text.startswith(told)
    assert text.endswith("(slow down)")


async def test_what_was_had_before_the_time_ran_out_is_kept() -> None:
    replies: list[Reply | ModelError] = [Reply((Sample("one"),), missing=2), RateLimited("slow down", 120.0)]

    class Short(Scripted):
        async def sample(self, request: Request) -> Reply:
            found = replies.pop(0)
            if isinstance(found, ModelError):
                raise found
            return found

    with pytest.raises(OutOfBudget) as stop:
        await Retrying(Short([]), late=lambda wait: 2.0).sample(replace(REQUEST, n=3))
    assert isinstance(stop.value.reply, Reply)
    assert (stop.value.reply.texts, stop.value.reply.missing) == (["one"], 2)


async def test_waits_are_the_same_in_each_run_and_differ_between_requests() -> None:
    def request(i: int) -> Request:
        return Request(REQUEST.messages, id=CallId(str(i), 0, "generate", "d"))

    first = [(await retried(RetryPolicy(), TransientError("a"), request=request(i)))[2][0] for i in range(8)]
    again = [(await retried(RetryPolicy(), TransientError("a"), request=request(i)))[2][0] for i in range(8)]
    assert first == again
    assert len(set(first)) == 8


def test_name_and_identity_are_those_of_the_model() -> None:
    model = Scripted([], name="script:x")
    assert (Retrying(model).name, Retrying(model).identity) == ("script:x", "script:x")


@pytest.mark.parametrize("bad", [{"attempts": 0}, {"base": -1}, {"jitter": 2}, {"deadline": -1}])
def test_policies_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="retry policy"):
        RetryPolicy(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("seed", range(12))
async def test_no_more_samples_are_drawn_than_the_bound_allows(attempts: int, n: int, seed: int) -> None:
    """Whatever mix of failures, short and unfit replies: at most attempts x n, and every sample that came is kept."""
    random, drawn = Random(seed), 0

    class Moody:
        name = identity = "moody"

        async def sample(self, request: Request) -> Reply:
            nonlocal drawn
            drawn += request.n
            if random.random() < 0.4:
                raise TransientError("down")
            got = random.randint(1, request.n)
            outcomes = [random.choice((Outcome.OK, Outcome.INVALID)) for _ in range(got)]
            return Reply(tuple(Sample("x", o) for o in outcomes), missing=request.n - got)

    clock = Clock()
    request = Request(REQUEST.messages, n=n, choices=("x",), seeds=tuple(range(n)))
    model = Retrying(Moody(), RetryPolicy(attempts=attempts), sleep=clock.sleep, clock=lambda: clock.now)
    try:
        reply = await model.sample(request)
    except TransientError:
        assert drawn == attempts * n
        return
    assert 1 <= len(reply.samples) <= n
    assert reply.missing == n - len(reply.samples)
    assert drawn <= attempts * n


LOST = Sample("", Outcome.TRUNCATED_IN_REASONING, reasoning="hm", finish="length", usage=Usage(calls=1, requests=1, completion_tokens=10))


class Thinker:
    """Thinks for 15 tokens, then says "fine"; where there is less room the answer is lost."""

    name = identity = "thinker"

    def __init__(self) -> None:
        self.limits: list[int] = []

    async def sample(self, request: Request) -> Reply:
        self.limits += [request.max_tokens] * request.n
        usage = Usage(calls=1, requests=1, completion_tokens=min(16, request.max_tokens))
        good = request.max_tokens >= 16
        return Reply(tuple(Sample("fine", usage=usage) if good else replace(LOST, usage=usage) for _ in range(request.n)))


@pytest.mark.parametrize(
    ("attempts", "larger", "firm", "limits"),
    [(4, 2, False, [10, 20]), (2, 2, False, [10, 20]), (1, 2, False, [10]), (4, 1, False, [10]), (4, 2, True, [10])],
)
async def test_an_answer_lost_to_reasoning_is_given_more_room_once(attempts: int, larger: int, firm: bool, limits: list[int]) -> None:
    model, policy = Thinker(), RetryPolicy(attempts=attempts, larger=larger)
    (sample,) = (await Retrying(model, policy).sample(replace(REQUEST, max_tokens=10, firm=firm))).samples
    assert model.limits == limits
    assert sample.outcome is (Outcome.OK if len(limits) == 2 else Outcome.TRUNCATED_IN_REASONING)
    assert sample.usage.completion_tokens == sum(min(16, limit) for limit in limits)
    assert sample.usage.completion_tokens <= policy.worst(Bound(1, 0, 10), grows=not firm).completion_tokens


async def test_more_room_is_not_given_twice() -> None:
    model = Thinker()
    (sample,) = (await Retrying(model).sample(replace(REQUEST, max_tokens=4))).samples
    assert model.limits == [4, 8]
    assert sample.outcome is Outcome.TRUNCATED_IN_REASONING
    assert sample.usage.calls == 2


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_the_worst_case_holds_under_any_faults(attempts: int) -> None:
    """Whatever comes in whatever order: no more calls and tokens than `worst` says."""
    import itertools

    for fates in itertools.product(("lost", "invalid", "down", "good"), repeat=attempts + 2):
        left, spent = list(fates), Usage()

        class Any:
            name = identity = "any"

            async def sample(self, request: Request, left: list[str] = left) -> Reply:
                nonlocal spent
                fate = left.pop(0)
                spent += Usage(calls=1, completion_tokens=request.max_tokens)
                if fate == "down":
                    raise TransientError("down")
                outcome = {"lost": Outcome.TRUNCATED_IN_REASONING, "invalid": Outcome.INVALID, "good": Outcome.OK}[fate]
                return Reply((Sample("" if fate == "lost" else "x", outcome),))

        policy, clock = RetryPolicy(attempts=attempts, larger=3), Clock()
        request = replace(REQUEST, max_tokens=10, choices=("a", "b"))
        with contextlib.suppress(TransientError):
            await Retrying(Any(), policy, sleep=clock.sleep, clock=lambda clock=clock: clock.now).sample(request)  # type: ignore[misc]
        worst = policy.worst(Bound(1, 0, 10))
        assert spent.calls <= worst.calls
        assert spent.completion_tokens <= worst.completion_tokens
