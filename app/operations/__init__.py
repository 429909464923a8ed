"""Liveness, readiness, the list of models; /metrics from what the sweeps find. No owner's data comes in."""
