"""The frame of every page, without any data: it needs no key, and loads its content as one who shows a key.

A browser shows no header of ours with the address of a page. So the address answers the frame, and the same address
with the header `HX-Request` answers the content.
"""

from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from app.pages.rendering import render
from app.web.access_log import HttpMiddleware
from app.web.parameters import BY_HTMX, PAGE_ASSETS, root_of, served_path
from lens_engine import __version__
from lens_engine.show.report import STYLESHEET

PAGES = "/pages/"
HOME = f"{PAGES}selections"

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


_SAMPLE = ("train.csv", "test.csv")
"""Rows for a first selection. They lie in a checkout, and in an image among the scripts of the pages."""
_FOLDERS = (Path(__file__).parent / "static" / "shop_reviews", Path(__file__).parents[2] / "examples" / "shop_reviews")


def has_sample() -> bool:
    """Whether the sample came with the installation."""
    return _find_sample(_SAMPLE[0]) is not None


def _find_sample(name: str) -> Path | None:
    return next((one / name for one in _FOLDERS if (one / name).is_file()), None) if name in _SAMPLE else None


class Assets(StaticFiles):
    """Scripts and styles. Their address has the version, so a browser may keep them."""

    def __init__(self) -> None:
        super().__init__(packages=[("app.pages", "static")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        # The stylesheet is that of reports too.
        file = STYLESHEET if path == STYLESHEET.name else _find_sample(path.partition("shop_reviews/")[2])
        response = await super().get_response(path, scope) if file is None else FileResponse(file)
        response.headers.update({"Cache-Control": "public, max-age=86400", **SECURITY})
        return response


class ShellMiddleware(HttpMiddleware):
    """Answers a browser that opens a page with the frame. Every other request goes on."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        frame = _frame(scope) if scope["method"] == "GET" else None
        await (self._app if frame is None else frame)(scope, receive, send)


def _frame(scope: Scope) -> Response | None:
    path, headers = served_path(scope), Headers(scope=scope)
    if path == "/favicon.ico":  # browsers ask for it beside answers in JSON
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})
    if BY_HTMX in headers or path.startswith(PAGE_ASSETS) or "text/html" not in headers.get("Accept", ""):
        return None
    root, query = root_of(scope), scope["query_string"].decode("latin-1")
    if path == "/":
        return RedirectResponse(f"{root}{HOME}", headers={"Vary": f"Accept, {BY_HTMX}"})
    # A browser would resolve such parts, and load what is no page.
    if not path.startswith(PAGES) or {"", ".", ".."} & set(path.removeprefix(PAGES).split("/")):
        return None
    address = f"{root}{quote(path)}{'?' * bool(query)}{query}"
    content = render("shell.html", root, path=address, version=__version__)
    return HTMLResponse(content, headers={**SECURITY, "Cache-Control": "no-cache", "Vary": f"Accept, {BY_HTMX}"})
