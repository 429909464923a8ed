"""`lens experiment`: the paper's tables and figures."""
