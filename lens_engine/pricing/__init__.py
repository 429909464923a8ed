"""The cost of a run, known before it starts."""
