"""Alembic migrations. `app.store.schema` runs them."""
