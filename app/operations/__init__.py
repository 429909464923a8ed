"""Liveness, readiness, the list of models; /metrics: counters, and what the stores say. No owner's data comes in."""
