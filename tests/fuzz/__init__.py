"""The service under random requests: what the OpenAPI document allows, what it forbids, and files of all kinds.

`make fuzz` sends 20,000 requests to a real API over real Postgres and Redis.
"""
