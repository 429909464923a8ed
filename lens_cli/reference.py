"""Writes the tables of options and settings in docs/reference.md from the code: `python -m lens_cli.reference`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.settings import Settings
from lens_engine.config import Options, SelectionConfig
from lens_engine.presets import PRESETS

PAGE = Path("docs/reference.md")
HOME = str(Path.home())


def main() -> None:
    """Replace the tables of the page in the folder of the checkout."""
    PAGE.write_text(fill(PAGE.read_text("utf-8")), "utf-8")


def fill(page: str) -> str:
    """The page with today's tables between its markers."""
    for name, rows in (("options", option_rows()), ("settings", setting_rows())):
        before, begin, rest = page.partition(f"<!-- begin {name} -->\n")
        _, end, after = rest.partition(f"<!-- end {name} -->\n")
        page = before + begin + "\n" + "\n".join(rows) + "\n\n" + end + after
    return page


def option_rows() -> list[str]:
    """A line for each option: its value in each preset, and what it means."""
    head = ["Option", *(f"`{preset}`" for preset in PRESETS), "Meaning"]
    found = [
        [f"`{name}`", *(_shown(_value(config, name)) for config in PRESETS.values()), field.description or ""]
        for name, field in _option_fields(SelectionConfig)
    ]
    return _table(head, found)


def setting_rows() -> list[str]:
    """A line for each setting: the variable, its default, and what it means."""
    found = [
        [f"`LENS_{name.upper()}`", _shown(_default(field)), field.description or ""]
        for name, field in Settings.model_fields.items()
    ]
    return _table(["Setting", "Default", "Meaning"], found)


def _option_fields(group: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in group.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Options):
            yield from _option_fields(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _value(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = getattr(config, name)
    return config


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def _shown(value: Any) -> str:
    if isinstance(value, Path | str):
        text = str(value).replace(HOME, "~")
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = json.dumps(value)
    return f"`{text}`"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


if __name__ == "__main__":
    main()
