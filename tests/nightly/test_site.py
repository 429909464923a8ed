"""The site that `make docs` makes: its links hold, nothing of it is on another host, and nothing is missing."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from app.main import create_app
from app.problems import TITLES
from app.settings import Settings
from docs.site.build import ROOT
from lens_cli.application import create_application

_LOADED = {"link": "href", "script": "src", "img": "src", "source": "src", "iframe": "src", "object": "data"}


@dataclass
class Page(HTMLParser):
    """What a page has, leads to and loads."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given["id"]} if "id" in given else set()
        self.links += [given["href"]] if tag == "a" and "href" in given else []
        address = given.get(_LOADED.get(tag, ""))
        self.loaded += [address] if address is not None else []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the command of `make docs`, for which a warning is an error."""
    command = [sys.executable, "-m", "docs.site.build", str(tmp_path_factory.mktemp("site"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return Path(urlsplit(done.stdout.strip()).path).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for path in site.rglob("*.html"):
        found[path] = Page()
        found[path].feed(path.read_text("utf-8"))
    return found


def find_broken(pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for address in (*page.links, *page.loaded):
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not (parts.scheme or parts.netloc) and (
                not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids)
            ):
                yield f"{path.name}: {address}"


def test_links_and_anchors_of_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert list(find_broken(pages)) == []


def test_pages_load_nothing_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {address for page in pages.values() for address in page.loaded}
    assert {
        address for address in loaded if urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data")
    } == set()
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert [
        found for text in styles for found in re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", text)
    ] == []


def test_reference_has_every_command_route_and_code(site: Path) -> None:
    text = {
        name: (site / "reference" / f"{name}.html").read_text("utf-8") for name in ("command-line", "codes", "metrics")
    }
    commands = {f">lens {entry.name}" for entry in create_application().registered_commands}
    assert {name for name in commands if name not in text["command-line"]} == set()
    assert {code for code in TITLES if f">{code}<" not in text["codes"]} == set()
    calls = "".join(path.read_text("utf-8") for path in (site / "reference/http-api").glob("*.html"))
    paths = create_app(Settings(_env_file=None)).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {route for route in routes if f">{route}<a" not in calls} == set()
    for name in re.findall(
        r"\blens_\w+", (site / "_downloads").parent.joinpath("docs/operations.html").read_text("utf-8")
    ):
        assert name in text["metrics"] or name.startswith(
            ("lens_cli", "lens_engine", "lens_client", "lens_owner", "lens_stores", "lens_inside")
        )
