"""Branchwise."""
