"""Mini crosswords of 5 × 5: ten clues, ten words, letters that must agree. Nothing here knows a solution."""

from branchwise.tasks.crosswords.grid import PLACES, Letters, fill, letters, pattern, words
from branchwise.tasks.crosswords.task import CROSSWORDS, Crossword

__all__ = ["CROSSWORDS", "PLACES", "Crossword", "Letters", "fill", "letters", "pattern", "words"]
