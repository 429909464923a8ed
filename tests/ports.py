"""Ports for the processes that tests start."""

import atexit
import socket


def reserve_port() -> int:
    """A port of 127.0.0.1 on which a child can listen, and which nobody else is given while this process lives.

    This process stays bound to it without listening, so a connection is refused until a child listens.
    """
    holder = socket.socket()
    atexit.register(holder.close)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port: int = holder.getsockname()[1]
    return port
