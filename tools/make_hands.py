"""Writes src/branchwise/tasks/game24/hands.txt: every solvable hand, easiest first. Run it again only when the order is redefined."""

from pathlib import Path

from branchwise.bench.oracles.game24 import solvable_hands

TARGET = Path(__file__).parents[1] / "src" / "branchwise" / "tasks" / "game24" / "hands.txt"

if __name__ == "__main__":
    TARGET.write_text("".join(f"{' '.join(map(str, hand))}\n" for hand in solvable_hands()), encoding="utf-8")
