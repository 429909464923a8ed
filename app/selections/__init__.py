"""Selections: the job and its result."""
