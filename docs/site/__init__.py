"""Makes the pages of docs/ a site: `make docs`. Pages about commands, routes, metrics and codes come from the code."""
