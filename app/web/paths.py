"""The path of a request as the routes know it, and what to say of a path that no route has."""

from collections.abc import Collection

from starlette.types import Scope

_OF_A_SELECTION = "/selections/{selection_id}/"


def served_path(scope: Scope) -> str:
    """The path without the prefix under which a proxy serves the application (`root_path` of ASGI)."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


def name_paths(paths: Collection[str]) -> str:
    """That there is no such path, and which there are."""
    below = sorted(path.removeprefix(_OF_A_SELECTION) for path in paths if path.startswith(_OF_A_SELECTION))
    others = sorted(path for path in paths if not path.startswith(_OF_A_SELECTION))
    return (
        f"there is no such path; there are {', '.join(others)} and, below {_OF_A_SELECTION}, {', '.join(below)}; "
        "/docs describes them"
    )
