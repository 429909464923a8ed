"""Metering: counts pairs and tokens, reports progress, enforces the budget."""
