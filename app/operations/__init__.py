"""Liveness, readiness, and the list of models."""
