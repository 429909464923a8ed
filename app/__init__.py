"""The service: HTTP in front, Postgres behind, a queue to the worker beside it."""
