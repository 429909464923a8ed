"""A scorer that counts: cost, progress, budget."""
