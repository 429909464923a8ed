"""The pair cache: scores kept on disk between runs."""
