"""The path of a request as the routes know it."""

from starlette.types import Scope


def served_path(scope: Scope) -> str:
    """The path without the prefix under which a proxy serves the application (`root_path` of ASGI)."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
