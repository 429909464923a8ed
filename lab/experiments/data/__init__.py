"""Datasets by name, from files or from the hub."""
