"""The compose files, read as Docker Compose reads them, as far as Lens uses its language."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


class ComposeLoader(yaml.SafeLoader):
    """YAML with the one tag of Compose's own that is used here."""


ComposeLoader.add_constructor("!reset", lambda _loader, node: node.value)


def read_yaml(name: str) -> dict[str, Any]:
    # A SafeLoader in all but name.
    document: dict[str, Any] = yaml.load((ROOT / name).read_text("utf-8"), ComposeLoader)
    return document


def commands_of(title: str) -> str:
    """The block of shell commands of docs/operations.md that begins with this comment."""
    blocks = (ROOT / "docs" / "operations.md").read_text("utf-8").split("```")
    (found,) = (block for block in blocks if block.startswith(f"bash\n# {title}"))
    return found.removeprefix("bash\n")
