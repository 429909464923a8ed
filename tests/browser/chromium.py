"""Debian's Chromium under its driver."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver

_FLAGS = (
    *("--headless=new", "--disable-gpu", "--no-first-run", "--disable-sync", "--force-color-profile=srgb"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-dev-shm-usage",  # /dev/shm of a container is small
)


def find_programs() -> tuple[str, str] | None:
    """Browser and driver; None where one of them is missing."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def require_programs() -> tuple[str, str]:
    """Browser and driver. Skips the test without them; fails it in continuous integration."""
    found = find_programs()
    if found is not None:
        return found
    reason = "needs Chromium and its driver: `.ci/chromium` installs them on Debian"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def running_chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """A browser with an empty profile. Downloads go to `folder / "downloads"`."""
    browser, driver = require_programs()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    root = ("--no-sandbox",) if os.getuid() == 0 else ()
    for flag in (*_FLAGS, *root, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        downloads = {"behavior": "allow", "downloadPath": str(folder / "downloads")}
        running.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
        yield running
    finally:
        running.quit()
