"""Writes the tables of options, settings and words in docs/reference.md and docs/words.md: `make docs-tables`."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from app.settings import Settings
from lens_engine.config import Options, SelectionConfig
from lens_engine.presets import PRESETS
from lens_engine.show.glossary import GLOSSARY

PAGES = (Path("docs/reference.md"), Path("docs/words.md"))


def fill(page: str) -> str:
    """The page with today's tables between its markers."""
    tables = {"options": option_rows, "settings": setting_rows, "words": word_rows}

    def replace(found: re.Match[str]) -> str:
        return "\n".join([found[1], "", *tables[found[2]](), "", found[3]])

    return re.sub(r"(<!-- begin (\w+) -->)\n.*?\n(<!-- end \2 -->)", replace, page, flags=re.DOTALL)


def option_rows() -> list[str]:
    """A line for each option: its value in each preset, and what it means."""
    found = [
        [f"`{name}`", *(_shown(reduce(getattr, name.split("."), config)) for config in PRESETS.values()), meaning]
        for name, meaning in _list_options(SelectionConfig)
    ]
    return make_table(["Option", *(f"`{preset}`" for preset in PRESETS), "Meaning"], found)


def setting_rows() -> list[str]:
    """A line for each setting: the variable, its default, and what it means."""
    found = []
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        found.append([f"`LENS_{name.upper()}`", _shown(default), field.description or ""])
    return make_table(["Setting", "Default", "Meaning"], found)


def word_rows() -> list[str]:
    """A line for each word: its meaning, and what papers and the API call it."""
    return make_table(
        ["Word", "Meaning", "In papers and the API"], [[one.name, one.meaning, one.also] for one in GLOSSARY]
    )


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table. A cell is one line of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _list_options(group: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, field in group.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Options):
            yield from _list_options(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field.description or ""


def _shown(value: Any) -> str:
    if isinstance(value, Path | str):
        return f"`{str(value).replace(str(Path.home()), '~')}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(fill(path.read_text("utf-8")), "utf-8")
