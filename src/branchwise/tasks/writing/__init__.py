"""Creative writing: four sentences in, four paragraphs out, each ending with its sentence."""

from branchwise.tasks.writing.rules import faults, paragraphs, sentences_of
from branchwise.tasks.writing.task import WRITING, Writing

__all__ = ["WRITING", "Writing", "faults", "paragraphs", "sentences_of"]
