"""Authentication by `Authorization: Bearer`, checked before any byte of the body is read.

Without configured keys, every request belongs to the owner `local`.
"""

import hashlib
import hmac
from collections.abc import Mapping

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import Unauthorized
from app.logs import context
from app.settings import Settings
from app.web.documentation import ASSETS, PUBLIC_PATHS
from app.web.error_handlers import problem_response

LOCAL_OWNER = "local"
API_KEY = Depends(
    HTTPBearer(
        scheme_name="ApiKey",
        description="API key of an owner. A service without API keys needs none.",
        auto_error=False,
    )
)
"""Names the key of a route in the OpenAPI document. The middleware below asks for the key."""
_PUBLIC_PATHS = PUBLIC_PATHS | {"/healthz", "/readyz", "/metrics"}


class AuthenticationMiddleware:
    """Sets `request.state.owner_id`, or answers 401."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _PUBLIC_PATHS or scope["path"].startswith(ASSETS):
            await self._app(scope, receive, send)
            return
        owner = self._owner(Headers(scope=scope).get("Authorization", ""))
        if owner is None:
            refusal = Unauthorized(
                "send an API key as `Authorization: Bearer <key>`", headers={"WWW-Authenticate": "Bearer"}
            )
            await problem_response(scope, refusal, self._settings)(scope, receive, send)
            return
        scope.setdefault("state", {})["owner_id"] = owner
        context.add(owner=owner)
        await self._app(scope, receive, send)

    def _owner(self, authorization: str) -> str | None:
        if self._settings.api_keys is None:
            return LOCAL_OWNER
        scheme, _, key = authorization.partition(" ")
        return find_owner(self._settings.api_keys, key.strip()) if scheme.lower() == "bearer" else None


def find_owner(api_keys: Mapping[str, str], key: str) -> str | None:
    """Return the owner of a key. All stored hashes are compared in constant time."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    owners = [owner for known, owner in api_keys.items() if hmac.compare_digest(known, digest)]
    return owners[0] if owners else None
