"""Commands that run the service: `up`, `serve`, `worker`, `migrate`, `keys`."""
