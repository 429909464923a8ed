"""The HTTP service under load, beside a bare endpoint of the same framework."""
