"""Looks for grids of ten distinct common words for mini crosswords; the clues are written by hand.

python -m pip install -c constraints.txt '.[words]'
python tools/make_crosswords.py [COUNT] [SEED]

Words are those of two dictionaries (english-words: web2, gcide) that are common enough (wordfreq: Zipf frequency of at least 2.9). A grid
is found row by row: a row is taken when every column is still the beginning of a word.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from random import Random

from english_words import get_english_words_set
from wordfreq import top_n_list, zipf_frequency

SIZE, COMMON, SECONDS = 5, 2.9, 2.5


def common_words() -> list[str]:
    """Five-letter words in falling order of frequency."""
    real = get_english_words_set(["web2", "gcide"], lower=False, alpha=True)
    words = (word for word in top_n_list("en", 60_000) if len(word) == SIZE and word.isascii() and word.isalpha())
    return [word for word in words if word in real and zipf_frequency(word, "en") >= COMMON]


class Grids:
    """All grids of a list of words, by a trie of beginnings."""

    def __init__(self, words: list[str], rng: Random) -> None:
        self.after: dict[str, set[str]] = defaultdict(set)
        for word in words:
            for end in range(SIZE):
                self.after[word[:end]].add(word[end])
        self.rng = rng

    def rows(self, columns: list[str], begun: str = "") -> Iterator[str]:
        """Words whose letters go on each of `columns`."""
        if len(begun) == SIZE:
            yield begun
            return
        fitting = sorted(self.after[begun] & self.after[columns[len(begun)]])
        self.rng.shuffle(fitting)
        for letter in fitting:
            yield from self.rows(columns, begun + letter)

    def grid(self, rows: list[str], until: float) -> list[str] | None:
        """A whole grid that begins with `rows`; `None` when there is none, or no time."""
        columns = ["".join(row[i] for row in rows) for i in range(SIZE)]
        if len(rows) == SIZE:
            return rows if len({*rows, *columns}) == 2 * SIZE else None
        for row in self.rows(columns):
            if time.monotonic() > until:
                return None
            if row not in rows and (found := self.grid([*rows, row], until)) is not None:
                return found
        return None


def main(count: int, seed: int) -> None:
    """Print grids with words that no other one has."""
    rng, used, words = Random(seed), set[str](), common_words()
    grids = Grids(words, rng)
    for first in rng.sample(words, len(words)):
        found = grids.grid([first], time.monotonic() + SECONDS)
        if found is None:
            continue
        columns = ["".join(row[i] for row in found) for i in range(SIZE)]
        if used & {*found, *columns}:
            continue
        used |= {*found, *columns}
        sys.stdout.write(f"{' '.join(found)} | {' '.join(columns)}\n")
        sys.stdout.flush()
        count -= 1
        if not count:
            return


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [12, 0][len(given) :]))
