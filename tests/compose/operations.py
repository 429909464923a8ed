"""The commands of docs/operations.md."""

from tests.compose.composition import ROOT


def commands_of(title: str) -> str:
    """The block of shell commands that begins with this comment."""
    blocks = (ROOT / "docs" / "operations.md").read_text("utf-8").split("```")
    (found,) = (block for block in blocks if block.startswith(f"bash\n# {title}"))
    return found.removeprefix("bash\n")
