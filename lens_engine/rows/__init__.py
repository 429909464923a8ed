"""Rows and their use: cleaning, quotas, splits, the fit to the model's context, and the report on a dataset."""
