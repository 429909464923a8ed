"""LENS: progressive filtering and diversity-guided search."""
