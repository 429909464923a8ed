"""Route /metrics, in the text format of Prometheus.

The numbers name no owner and no selection, but they tell how busy the service is. So they have a key of their own,
which opens nothing else.
"""

import hashlib
import hmac
import ipaddress

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from app.dependencies import ServicesDep
from app.errors import Unauthorized
from app.settings import Settings

router = APIRouter()
METRICS_PATH = "/metrics"


@router.get(METRICS_PATH, include_in_schema=False)
def show_metrics(request: Request, services: ServicesDep) -> Response:
    """Answer with all metrics of this process and of the service.

    Raises:
        Unauthorized: the caller may not read them.
    """
    if not _may_read(request, services.settings):
        raise Unauthorized(
            "send the key of the metrics as `Authorization: Bearer <key>`; its SHA-256 is LENS_METRICS_KEY_HASH",
            headers={"WWW-Authenticate": "Bearer"},
        )
    registry: CollectorRegistry = request.app.state.registry
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _may_read(request: Request, settings: Settings) -> bool:
    """With a key, who sends it. Without one, this machine, and only while the service asks nobody for an API key.

    Behind a reverse proxy of the same machine every caller has a local address. Such a service has API keys.
    """
    if settings.metrics_key_hash is not None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        digest = hashlib.sha256(key.strip().encode("utf-8", "surrogateescape")).hexdigest()
        return scheme.lower() == "bearer" and hmac.compare_digest(digest, settings.metrics_key_hash)
    return settings.api_keys is None and request.client is not None and _is_local(request.client.host)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
