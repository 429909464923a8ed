"""Authentication by `Authorization: Bearer`, checked before any byte of the body is read.

Where the settings ask for no key and the database never had one, every request belongs to the owner `local`.
"""

from collections.abc import Mapping

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from app.errors import Unauthorized, Unavailable
from app.settings import Settings
from app.store.keys import KeyLookup
from app.web.error_handlers import problem_response
from app.web.openapi import PUBLIC_PATHS
from app.web.parameters import PAGE_ASSETS, served_path

LOCAL_OWNER = "local"
OPEN = {"Lens-Authentication": "off"}
"""Header of an answer for which no key was asked. A key that was sent proves nothing then."""
API_KEY = Depends(
    HTTPBearer(
        scheme_name="ApiKey",
        description="API key of an owner. A service without API keys needs none.",
        auto_error=False,
    )
)
"""Names the key of a route in the OpenAPI document. The middleware below asks for the key."""
_PUBLIC_PATHS = PUBLIC_PATHS | {"/healthz", "/readyz", "/metrics"}
_POLICY_VIOLATION = 1008  # a code of RFC 6455


class AuthenticationMiddleware:
    """Sets `request.state.owner_id` and `key_name`, or answers 401; 503 if the keys of the database cannot be read.

    Answers to owners vary by key, and nobody stores an answer that does not say how long it may be kept.
    """

    def __init__(self, app: ASGIApp, settings: Settings, keys: KeyLookup) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # no route takes one
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        if scope["type"] != "http" or _is_public(scope):
            await self._app(scope, receive, send)
            return
        try:
            owner, key_name = await self._caller(Headers(scope=scope).get("Authorization", ""))
        except (Unauthorized, Unavailable) as refusal:
            await problem_response(scope, refusal)(scope, receive, _for_one_owner(send))
            return
        send = _for_one_owner(send, OPEN if owner is None else {})
        owner = owner or LOCAL_OWNER
        scope.setdefault("state", {}).update(owner_id=owner, key_name=key_name)
        bind_contextvars(owner=owner)
        await self._app(scope, receive, send)

    async def _caller(self, authorization: str) -> tuple[str | None, str | None]:
        """The owner and the name of the key; None twice where no key is asked for."""
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() == "bearer" and (live := await self._keys.find_key(key.strip())):
            return live.owner_id, live.name
        if not self._settings.require_keys and not await self._keys.has_keys():
            return None, None
        raise Unauthorized("send an API key as `Authorization: Bearer <key>`", headers={"WWW-Authenticate": "Bearer"})


def _is_public(scope: Scope) -> bool:
    path = served_path(scope)
    return path in _PUBLIC_PATHS or path.startswith(PAGE_ASSETS)


def _for_one_owner(send: Send, more: Mapping[str, str] | None = None) -> Send:
    async def send_private(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Authorization")
            headers.setdefault("Cache-Control", "no-store")
            headers.update(more or {})
        await send(message)

    return send_private
