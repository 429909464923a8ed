"""Datasets: uploads to rows, and rows to tables."""
