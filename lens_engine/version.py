"""The version of Lens: part of every result and checkpoint."""

__version__ = "0.1.0"
