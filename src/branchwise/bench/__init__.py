"""Measuring: the only part that may read an answer key."""
