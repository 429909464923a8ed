"""What a worker checks before it waits for jobs."""

import logging

from app.schema import current_revision, is_behind, own_revisions
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, create_database

_log = logging.getLogger(__name__)


def check_schema(settings: Settings) -> None:
    """Check that Postgres has the schema of this release, and close every connection before the first fork.

    A newer schema is fine: it is migrated before the workers of the release before have ended.

    Raises:
        SystemExit: the schema is older than this release.
    """
    database = create_database(settings, pool_size=1)
    try:
        with database.session_scope() as session:
            if is_behind(session.connection()):
                found = current_revision(session.connection()) or "none"
                raise SystemExit(
                    f"the database schema is at revision {found}, and this release needs {own_revisions().head}; "
                    "run `lens migrate`"
                )
    except POSTGRES_AWAY as error:
        _log.warning("Postgres does not answer; the worker waits for it (%s)", type(error).__name__)
    finally:
        database.dispose()
