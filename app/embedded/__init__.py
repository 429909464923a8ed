"""Real Postgres and Redis for a machine that has neither: both come as wheels, both run from a folder."""

from app.embedded.child import Child, ChildFailed, ChildSpec
from app.embedded.servers import DirectoryInUse, EmbeddedServers, embedded_servers

__all__ = ["Child", "ChildFailed", "ChildSpec", "DirectoryInUse", "EmbeddedServers", "embedded_servers"]
