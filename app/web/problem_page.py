"""A refusal as a part of a page, for requests that a page sends."""

import re
from html import escape
from typing import Any

from app.problems import TITLES

_KEY_FORM = (
    '<form id="key-form"><label for="key">API key</label> '
    '<input id="key" type="password" autocomplete="off" required data-focus> '
    "<button>Use this key in this tab</button></form>"
)
_CODE = re.compile(r"`([^`]+)`")
TARGET = {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"}
"""Where a page shows every refusal."""

WHOLE_PAGE = "main#main"
"""What the header `HX-Source` says of the request for the content of a whole page."""

NO_SUCH_PAGE = "there is no such page"


def mark_code(text: str) -> str:
    """A sentence as HTML. What stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def write_problem(body: dict[str, Any], *, has_key: bool, is_page: bool = False, root: str = "") -> str:
    """What is wrong, and how to mend it; the form for a key if one is needed.

    Args:
        has_key: whether the request had a key.
        is_page: whether a whole page is refused. Then the problem has heading and title of a page, and leads on.
        root: the path under which a proxy serves the application.
    """
    if body["code"] == "unauthorized":
        what = "The service knows no such key." if has_key else "This service asks for an API key."
        heading = _write_heading("API key") if is_page else ""
        return f"{heading}<p>{what} The key stays in this tab, and is forgotten with it.</p>{_KEY_FORM}"
    heading = _write_heading(body["title"]) if is_page else f"<p><strong>{escape(body['title'])}</strong></p>"
    errors = [one["detail"] for one in body.get("errors", ())]
    listed = "".join(f"<li>{mark_code(one)}</li>" for one in errors if not body["detail"].endswith(one))
    faults = f"<ul>{listed}</ul>" if listed else ""
    report = f"<p>Request id: <code>{escape(body['request_id'])}</code></p>" if body["code"] == "internal-error" else ""
    on = _write_links(root) if is_page and body["code"] == "not-found" else ""
    return f"{heading}<p>{mark_code(body['detail'])}</p>{faults}{report}{on}"


def write_missing_page(root: str) -> str:
    """A document for a browser that was sent to an address where nothing is."""
    body = {"code": "not-found", "title": TITLES["not-found"], "detail": NO_SUCH_PAGE}
    content = write_problem(body, has_key=False, is_page=True, root=root)
    return f'<!doctype html><html lang="en"><meta name="color-scheme" content="light dark">{content}</html>'


def _write_heading(title: str) -> str:
    return f"<title>{escape(title)} · Lens</title><h1>{escape(title)}</h1>"


def _write_links(root: str) -> str:
    pages = {"selections": "Selections", "new": "New selection", "prompts": "Prompts"}
    links = (f'<a href="{escape(root)}/pages/{path}">{name}</a>' for path, name in pages.items())
    return f"<p>{' · '.join(links)}</p>"
