"""Scoring: log-probabilities of label words after prompts."""
