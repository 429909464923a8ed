"""Liveness, readiness, the list of models; /metrics: what the stores say. No owner's data comes in."""
