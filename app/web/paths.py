"""The path of a request as the routes know it, and what to say of a path that no route has."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from starlette.types import Scope

BY_HTMX = "HX-Request"
"""Header of the requests of a page. A browser that opens a page sends none."""

PAGE_ASSETS = "/pages/assets/"
"""Where the scripts and styles of the pages are. They need no key."""


def served_path(scope: Scope) -> str:
    """The path without the prefix under which a proxy serves the application (`root_path` of ASGI)."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def name_paths(paths: Collection[str]) -> str:
    """That there is no such path, and which there are."""
    below, others = dict[str, list[str]](), list[str]()
    for path in sorted(paths):
        one, found, part = path.partition("}/")
        if found:
            below.setdefault(f"{one}{found}", []).append(part)
        else:
            others.append(path)
    parts = "; ".join(f"below {one}, {', '.join(names)}" for one, names in below.items())
    return f"there is no such path; there are {', '.join(others)}; {parts}; /docs describes them"


def find_methods(paths: Mapping[str, Mapping[str, Any]], path: str) -> str | None:
    """The methods that a path takes, by the OpenAPI document; None for a path that is not in it."""
    for known, operations in paths.items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path):
            return ", ".join(method.upper() for method in operations)
    return None
