"""`lens classify`: a classifier on the rows of a file."""
