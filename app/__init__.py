"""The HTTP service. Postgres stores its state, and a Redis queue wakes the workers."""
