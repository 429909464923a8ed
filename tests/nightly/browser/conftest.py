from tests.browser.conftest import chromium, chromium_folder, host, lens, service, stage, tab  # noqa: F401
