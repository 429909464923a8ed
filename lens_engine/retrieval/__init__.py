"""The demonstrations of an input: the form of a prompt, the pool, and the search for rows that are like a text."""
