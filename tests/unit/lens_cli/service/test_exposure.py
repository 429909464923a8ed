"""A service without API keys does not listen on the network, whichever command starts it."""

import pytest

from app.settings import Settings
from lens_cli.refusals import Refusal
from lens_cli.service.commands import check_host

LOOPBACK = ("127.0.0.1", "localhost", "::1", "127.0.0.2")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "lens.example", ""])
def test_open_service_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(Refusal, match="on this machine only") as caught:
        check_host(Settings(_env_file=None), host)
    assert "LENS_REQUIRE_KEYS" in caught.value.details[0]
    for loopback in LOOPBACK:
        check_host(Settings(_env_file=None), loopback)
    check_host(Settings(_env_file=None, require_keys=True), host)
