"""The kinds of jobs: how each is submitted, what of it is stored, and how clients see it."""
