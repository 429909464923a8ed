"""`lens suggest`: what a selection of a file could look like."""
