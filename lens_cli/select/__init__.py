"""`lens select`: one selection on this machine."""
