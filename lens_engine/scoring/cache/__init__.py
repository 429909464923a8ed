"""Scores kept on disk between runs."""
