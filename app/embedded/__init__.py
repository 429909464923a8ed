"""Real Postgres and Redis for a machine that has neither: both come as wheels, both run from a folder."""

from app.embedded.child import ChildFailed
from app.embedded.servers import DirectoryInUse, EmbeddedServers, embedded_servers

__all__ = ["ChildFailed", "DirectoryInUse", "EmbeddedServers", "embedded_servers"]
