"""The command `lens`. Its modules import torch, Postgres and the web framework only when a command needs them."""

from lens_cli.application import main

__all__ = ["main"]
