"""Analyses beside the main table."""
