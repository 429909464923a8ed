"""API keys in Postgres: made, listed and revoked by an operator, looked up by the API."""
