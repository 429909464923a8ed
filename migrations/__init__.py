"""Alembic migrations. `app.schema` runs them."""
