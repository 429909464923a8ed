"""`lens select`: one selection in this process."""
