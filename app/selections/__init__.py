"""Selections: submission, life cycle, result."""
