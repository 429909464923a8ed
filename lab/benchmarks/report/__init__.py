"""Results: records in JSON, targets, tables, and the page they are written to."""
