"""Embedded Postgres and Redis: real servers, installed as wheels, that run over one data directory."""

from lens_cli.service.embedded.child import Child, ChildFailed, ChildSpec
from lens_cli.service.embedded.servers import EmbeddedServers, embedded_servers

__all__ = ["Child", "ChildFailed", "ChildSpec", "EmbeddedServers", "embedded_servers"]
