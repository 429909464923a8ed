"""One run, from its preparation to its result; it can be resumed from any checkpoint."""
