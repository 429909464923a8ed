"""The browser and the service of the browser ring."""

from tests.browser.conftest import chromium, chromium_folder, host, lens, service, stage, tab  # noqa: F401
