"""The main table: methods, datasets, templates and seeds."""
