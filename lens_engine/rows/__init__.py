"""Rows and their use: cleaning, quotas, splits, and the fit to the model's context."""
