"""An own problem in under 30 lines: a sentence of exactly five words, found word by word. Run: python examples/own_problem.py"""

import branchwise as bw


class FiveWords:
    """Each thought is one more word; five of them are a proven solution, if no word comes twice."""

    prompt = "Write a sentence of exactly five words about the sea."

    def status(self, state: bw.State) -> bw.Status:
        if len(set(state)) < len(state):
            return bw.dead("a word comes twice")
        return bw.SOLVED if len(state) == 5 else bw.OPEN

    def key(self, state: bw.State) -> tuple[str, ...]:
        return state

    def answer(self, state: bw.State) -> str | None:
        return " ".join(state) if len(state) == 5 else None

    def read(self, state: bw.State, text: str) -> str:
        if not text.isalpha():
            raise bw.Rejected("not one word")
        return text.lower()


words = bw.Scripted([{"role": "generate", "replies": ["1. the\n2. waves\n3. sing\n4. all\n5. night"]}, {"role": "evaluate", "replies": ["likely"]}])
method = bw.Method(generate=bw.Propose(k=5), evaluate=bw.Value(samples=1), search=bw.Beam(breadth=3, depth=5))

if __name__ == "__main__":
    print(bw.solve_sync(FiveWords(), method, words, budget=bw.Budget(calls=100)).answer)
