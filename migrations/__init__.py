"""Alembic's migrations; `app.schema` runs them."""
