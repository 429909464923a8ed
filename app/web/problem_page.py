"""A refusal as a part of a page, for requests that a page sends."""

from html import escape
from typing import Any

_KEY_FORM = (
    '<form id="key-form"><label for="key">API key</label> '
    '<input id="key" type="password" autocomplete="off" required> <button>Use this key in this tab</button></form>'
)
TARGET = {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"}
"""Where a page shows every refusal."""


def write_problem(body: dict[str, Any], *, has_key: bool) -> str:
    """What is wrong, and how to mend it; the form for a key if one is needed.

    Args:
        has_key: whether the request had a key.
    """
    if body["code"] == "unauthorized":
        what = "The service knows no such key." if has_key else "This service asks for an API key."
        return f"<p>{what} The key stays in this tab, and is forgotten with it.</p>{_KEY_FORM}"
    errors = [one["detail"] for one in body.get("errors", ()) if one["detail"] != body["detail"]]
    listed = "".join(f"<li>{escape(one)}</li>" for one in errors)
    faults = f"<ul>{listed}</ul>" if listed else ""
    report = f"<p>Request id: <code>{escape(body['request_id'])}</code></p>" if body["code"] == "internal-error" else ""
    return f"<p><strong>{escape(body['title'])}</strong></p><p>{escape(body['detail'])}</p>{faults}{report}"
