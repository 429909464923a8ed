"""Findings: tables, plots and notes, and the files they become."""
