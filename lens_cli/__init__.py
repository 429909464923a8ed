"""The command `lens`. Each command imports torch, Postgres and the web framework only when it needs them."""

from lens_cli.application import main

__all__ = ["main"]
