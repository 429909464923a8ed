"""Runs the migrations: one process at a time, on one connection, with short waits for locks."""

import time

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

from app.settings import Settings
from app.store.tables import Base

_LOCK_KEY = 0x6C656E73_00  # "lens", 0
_LOOK_SECONDS = 0.2


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_object=lambda _item, _name, kind, *_: kind in ("table", "column"),  # the others only migrations have
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_online(settings: Settings) -> None:
    engine = create_engine(settings.database_url, poolclass=pool.NullPool, hide_parameters=True)
    with engine.connect() as connection:
        _wait_for_turn(connection)
        # A migration that waits for a table lock blocks all later queries on the table, so the wait is short.
        connection.execute(text("SET lock_timeout = '2s'"))
        connection.commit()
        try:
            run(connection)
        finally:
            connection.rollback()
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _LOCK_KEY})
            connection.commit()


def _wait_for_turn(connection: Connection) -> None:
    """Wait while another process migrates. An open statement would hold up an index that it builds concurrently."""
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _LOCK_KEY}):
        connection.rollback()
        time.sleep(_LOOK_SECONDS)


_settings: Settings = context.config.attributes.get("settings") or Settings()
run_online(_settings)
