"""The compose files, read as Docker Compose reads them, as far as Lens uses its language."""

import re
from collections.abc import Mapping
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


class Composition:
    """The services without a GPU, with the variables of an `.env`.

    https://docs.docker.com/reference/compose-file/interpolation
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._document = read_yaml("docker-compose.yml")
        self._without_gpu = read_yaml("docker-compose.cpu.yml")

    def command(self, service: str) -> list[str]:
        return [self._resolve(word) for word in self._document["services"][service]["command"]]

    def health_check(self, service: str) -> list[str]:
        kind, *words = self._document["services"][service]["healthcheck"]["test"]
        resolved = [self._resolve(word) for word in words]
        return resolved if kind == "CMD" else ["sh", "-c", *resolved]

    def environment(self, service: str) -> dict[str, str]:
        """A name without a value has that of the variable, and is left out if there is none."""
        named: dict[str, str | None] = dict(self._document["services"][service].get("environment", {}))
        named.update(self._without_gpu["services"].get(service, {}).get("environment", {}))
        found = {
            name: self._variables.get(name) if value is None else self._resolve(value) for name, value in named.items()
        }
        return {name: value for name, value in found.items() if value is not None}

    def config(self, name: str) -> str:
        return self._resolve(self._document["configs"][name]["content"])

    def _resolve(self, text: str) -> str:
        return re.sub(r"\$\$|\$\{(\w+)(?::([?-])([^}]*))?\}", self._substitute, text)

    def _substitute(self, match: re.Match[str]) -> str:
        name, sign, rest = match.groups()
        if name is None:
            return "$"
        value = self._variables.get(name, "")
        if not value and sign == "?":
            raise ValueError(f"{name}: {rest}")
        return value or (rest if sign == "-" else "")
