"""Liveness: how work that scores nothing shows that it moves."""
