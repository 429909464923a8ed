"""Which rows serve for what: cleaning, quotas, splits, and what fits the model's context."""
