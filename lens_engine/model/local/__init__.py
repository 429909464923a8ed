"""From a model's name to a scorer: files, number format, executor."""
