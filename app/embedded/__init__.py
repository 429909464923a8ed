"""Embedded Postgres and Redis: real servers, installed as wheels, that run over one data directory."""

from app.embedded.child import Child, ChildFailed, ChildSpec
from app.embedded.servers import DirectoryInUse, EmbeddedServers, embedded_servers

__all__ = ["Child", "ChildFailed", "ChildSpec", "DirectoryInUse", "EmbeddedServers", "embedded_servers"]
