"""Writes the tables of pages from the code: `make docs-tables`."""
