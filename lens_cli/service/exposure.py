"""Where a service may listen."""

from typing import TYPE_CHECKING

from lens_cli.refusals import EXIT_INVALID, Refusal

if TYPE_CHECKING:
    from app.settings import Settings


def check_host(settings: "Settings", host: str) -> None:
    """
    Raises:
        Refusal: the service would ask for no key and listen on another address than this machine's own.
    """
    from app.web.loopback import ADVICE, is_loopback

    if settings.is_open and not is_loopback(host):
        message = f"without API keys the service listens on this machine only (127.0.0.1), not on {host}"
        raise Refusal(message, details=(ADVICE, "where: --host"), exit_code=EXIT_INVALID)
