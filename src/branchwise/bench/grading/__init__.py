"""Checkers of answers against an answer key. Pure but for mathematics, which has a guarded worker process."""
