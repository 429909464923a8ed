"""Embedded Postgres and Redis: real servers, installed as wheels, that run over one data directory."""

from lens_cli.service.embedded.child import Child, ChildFailed, ChildSpec, describe_end
from lens_cli.service.embedded.servers import EmbeddedServers, embedded_servers

__all__ = ["Child", "ChildFailed", "ChildSpec", "EmbeddedServers", "describe_end", "embedded_servers"]
