"""Route /metrics, in the text format of Prometheus.

The numbers name no selection. One names owners, and all tell how busy the service is. So they have a key of their own,
which opens nothing else.
"""

import hmac

from fastapi import APIRouter, Depends, Request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from app.errors import Unauthorized
from app.model_settings import is_loopback
from app.store.keys import KeyLookup, hash_key
from app.web.dependencies import ServicesDep

router = APIRouter()
METRICS_PATH = "/metrics"


async def check_reader(request: Request, services: ServicesDep) -> None:
    """Let the holder of the key of the metrics pass. Without such a key: this machine, if no API key is needed.

    Behind a reverse proxy of the same machine every caller has a local address. Such a service has API keys.
    """
    known = services.settings.metrics_key_hash
    if known is not None and _has_key(request, known):
        return
    may_be_open = known is None and not services.settings.require_keys and _is_local(request)
    if may_be_open and not await _keys(request).has_keys():
        return
    raise Unauthorized(
        "send the key of the metrics as `Authorization: Bearer <key>`; its SHA-256 is LENS_METRICS_KEY_HASH",
        headers={"WWW-Authenticate": "Bearer"},
    )


@router.get(METRICS_PATH, include_in_schema=False, dependencies=[Depends(check_reader)])
def show_metrics(request: Request) -> Response:
    """Answer with all metrics of this process and of the service."""
    registry: CollectorRegistry = request.app.state.registry
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _has_key(request: Request, known: str) -> bool:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(hash_key(key.strip()), known)


def _keys(request: Request) -> KeyLookup:
    found: KeyLookup = request.app.state.keys
    return found


def _is_local(request: Request) -> bool:
    return request.client is not None and is_loopback(request.client.host)
