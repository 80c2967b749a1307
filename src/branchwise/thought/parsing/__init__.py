"""The one place that reads model text. Pure functions in linear time; they evaluate nothing and never guess. Knows no task and no model."""

from branchwise.thought.parsing.answers import boxes, final_answer, json_object
from branchwise.thought.parsing.items import list_items, unmarked
from branchwise.thought.parsing.numbers import Scale, score
from branchwise.thought.parsing.text import Split, fold, inline, sentences, split_reasoning, strip_reasoning
from branchwise.thought.parsing.verdicts import CONFIDENCE, confidence, label, vote, yes_no

__all__ = [
    "CONFIDENCE",
    "Scale",
    "Split",
    "boxes",
    "confidence",
    "final_answer",
    "fold",
    "inline",
    "json_object",
    "label",
    "list_items",
    "score",
    "sentences",
    "split_reasoning",
    "strip_reasoning",
    "unmarked",
    "vote",
    "yes_no",
]
