"""`lens experiment`: the paper's tables and figures from the command line."""
