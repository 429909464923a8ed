"""The page on the codes of refusals and failed runs."""

from app.errors import AppError
from app.problems import TITLES
from docs.site.tables import make_cell, make_table


def write_codes() -> str:
    """A row for each code: its title, and the HTTP status of the service's own errors."""
    statuses = {kind.code: str(kind.status) for kind in _list_kinds(AppError)}
    rows = [[f"`{code}`", statuses.get(code, ""), make_cell(title)] for code, title in TITLES.items()]
    about = "[Refusals](../docs/api.md#refusals) says when each is given, and what to do."
    return "\n".join(["# Codes of problems", "", about, "", *make_table(["Code", "Status", "Title"], rows), ""])


def _list_kinds(kind: type[AppError]) -> list[type[AppError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _list_kinds(child))]
