"""The one place that reads model text. Pure functions in linear time; they evaluate nothing and never guess. Knows no task and no model."""

from branchwise.thought.parsing.answers import before_run_on, box_spans, boxes, final_answer, json_object
from branchwise.thought.parsing.items import list_items, unmarked
from branchwise.thought.parsing.numbers import Scale, score
from branchwise.thought.parsing.quantities import final_number, plain_number, quantity, show_number
from branchwise.thought.parsing.text import Split, fold, inline, sentences, split_reasoning, strip_reasoning
from branchwise.thought.parsing.verdicts import CONFIDENCE, confidence, label, vote, yes_no

__all__ = [
    "CONFIDENCE",
    "Scale",
    "Split",
    "before_run_on",
    "box_spans",
    "boxes",
    "confidence",
    "final_answer",
    "final_number",
    "fold",
    "inline",
    "json_object",
    "label",
    "list_items",
    "plain_number",
    "quantity",
    "score",
    "sentences",
    "show_number",
    "split_reasoning",
    "strip_reasoning",
    "unmarked",
    "vote",
    "yes_no",
]
