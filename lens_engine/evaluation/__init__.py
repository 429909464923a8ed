"""A classifier on many rows: predictions, files of them, and how often they are right. It chooses nothing."""
