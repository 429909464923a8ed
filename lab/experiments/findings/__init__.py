"""Findings: tables and notes, and the files they become."""
