"""Builds the site: `make docs`, or `python -m docs.site.build FOLDER`.

The pages are copied to docs-sources in the folder (by default build/), and those of the code are made beside them.
"""

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.site.codes import write_codes
from docs.site.command_line import write_command_line
from docs.site.http_api import write_http_api
from docs.site.metrics import write_metrics

ROOT = Path(__file__).parents[2]
_SITE = Path(__file__).parent
_FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "constraints.txt", ".env.example")
_FOLDERS = ("docs", "examples")


def build_site(folder: Path) -> Path:
    """The first page of the site, made in a folder. Each page is made anew.

    Raises:
        SystemExit: Sphinx has a warning, for example of a link that leads nowhere.
    """
    sources, site = folder / "docs-sources", folder / "docs"
    for old in (sources, site):
        shutil.rmtree(old, ignore_errors=True)
    gather_sources(sources)
    options = ["--quiet", "--fail-on-warning", "--keep-going", "-b", "html", "-d", str(folder / "docs-cache")]
    if build_main([*options, "-c", str(_SITE), str(sources), str(site)]):
        raise SystemExit("the site has faults: see the warnings above")
    return site / "index.html"


def gather_sources(sources: Path) -> None:
    """Copy the pages, so that links between them hold, and make those of the code."""
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "site"))
    for name in _FILES:
        shutil.copy(ROOT / name, sources / name)
    shutil.copy(_SITE / "index.md", sources / "index.md")
    for name, text in make_pages().items():
        path = sources / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8")


def make_pages() -> dict[str, str]:
    """The pages that are made from the code, and lists of pages, by their path in the site without its ending."""
    calls = {f"reference/http-api/{name}": text for name, text in write_http_api().items()}
    return {
        "reference/command-line": write_command_line(),
        **calls,
        "reference/http-api": list_pages("HTTP API", *calls),
        "reference/codes": write_codes(),
        "reference/metrics": write_metrics(),
        "measurements": list_pages("Measurements in full", "docs/results/**"),
        "decisions": list_pages("Decisions", "docs/decisions/*"),
    }


def list_pages(title: str, *patterns: str) -> str:
    """A page with links to the pages that match."""
    return "\n".join([f"# {title}", "", "```{toctree}", ":glob:", "", *(f"/{one}" for one in patterns), "```"])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    sys.stdout.write(build_site(target).as_uri() + "\n")
