"""Writes a picture of each page in each of its states, light and dark: `python -m tests.browser.screenshots FOLDER`."""

import argparse
import base64
import tempfile
from pathlib import Path

from lens_cli.service.embedded import embedded_servers
from tests.browser.chromium import running_chromium
from tests.browser.page import Page
from tests.browser.states import STATES, open_state
from tests.e2e.service import clear, running_service
from tests.e2e.stack import Stack
from tests.integration.conftest import Selections

_MOST_PIXELS = 8000
"""Height of a picture. A result with many rows is longer."""


def write_pictures(page: Page, service: Stack, folder: Path, widths: list[int], names: list[str]) -> None:
    """`NAME-SCHEME.png` of each state; with several widths `NAME-SCHEME-WIDTH.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in STATES.items():
        if names and name not in names:
            continue
        clear(service)
        state = make(Selections(service.client, service.database))  # type: ignore[arg-type]  # both clients speak alike
        for width in widths:
            for scheme in ("light", "dark"):
                page.resize(width)
                page.prefer(scheme)
                open_state(page, state)
                picture = folder / f"{name}-{scheme}{f'-{width}' if len(widths) > 1 else ''}.png"
                picture.write_bytes(_take(page, width))


def _take(page: Page, width: int) -> bytes:
    height = min(page.run("return document.documentElement.scrollHeight"), _MOST_PIXELS)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(page.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, action="append", help="width of the window (pixels); 1200 without it")
    parser.add_argument("--only", action="append", help="a state; all without it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / name for name in ("servers", "service", "chromium")]
        for folder in folders:
            folder.mkdir()
        with (
            embedded_servers(folders[0], durable=False) as servers,
            running_service(servers, folders[1], queue_name="browser") as service,
            running_chromium(folders[2]) as driver,
        ):
            page = Page(driver, str(service.client.base_url).rstrip("/"), folders[2] / "downloads")
            write_pictures(page, service, arguments.folder, arguments.width or [1200], arguments.only or [])


if __name__ == "__main__":
    main()
