"""A model behind a server: where it is asked, how, and by the name of which variable its key is found."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import ConfigDict, TypeAdapter, ValidationError

from lens_engine.errors import InvalidConfig
from lens_engine.model.spending import TokenPrices

EndpointKind = Literal["vllm", "llama-cpp", "openai-chat"]
KINDS: tuple[EndpointKind, ...] = get_args(EndpointKind)
AnswerKind = Literal["probabilities", "sampled"]

_OWN_FIELDS = {"model", "messages", "logprobs", "n", "stream"}
"""Fields of a chat request that Lens sets itself."""

_SECRET = re.compile(
    r"(.*[_-])?(api[_-]?key|authorization|secret|password|access[_-]?token|auth[_-]?token)|auth|bearer|key|token",
    re.IGNORECASE,
)
"""Names of fields that hold a key: the result has `extra`."""

_REFERENCE = re.compile(rf"(?P<kind>{'|'.join(KINDS)}):(?P<model>.+)@(?P<url>https?://[^@]+)", re.DOTALL)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")  # a key has small letters, and must not pass as a name


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind a server.

    Args:
        kind: how the server is asked.
        url: address of the server, without the path of the call: "http://127.0.0.1:8000". For "openai-chat", with what
            precedes "/chat/completions": "https://api.openai.com/v1".
        model: name of the model at the server.
        key_variable: name of the environment variable that holds the key; None for a server that wants none.
        tokenizer: the model's own tokenizer: a folder with `tokenizer.json`, a bundled name, or a hub id that was
            downloaded; None to ask the server for tokens.
        prices: of a million tokens; None if nothing is paid.
        most_requests: largest number of requests at once.
        context: longest prompt (tokens); None for what the server says, or 32,768 for "openai-chat".
        answers: of "openai-chat". probabilities: those of its 20 most probable tokens. sampled: one answer a prompt,
            for a model that gives no probabilities.
        extra: further fields of each request of "openai-chat", such as `{"reasoning_effort": "none"}`; None leaves a
            field out. It may set `temperature`, `max_tokens` and `top_logprobs`. With `max_completion_tokens`, no
            `max_tokens` is sent. The result has these fields.

    Raises:
        InvalidConfig: the kind is unknown, the address is no http address or holds a key, the name is no name of a
            variable, or an option is not for this kind.
    """

    kind: EndpointKind
    url: str
    model: str
    key_variable: str | None = None
    tokenizer: str | None = None
    prices: TokenPrices | None = field(default=None)
    most_requests: int = 32
    context: int | None = None
    answers: AnswerKind = "probabilities"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")  # of an entry of a file

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidConfig(f"endpoint kind {self.kind!r} is not one of {', '.join(KINDS)}", field="kind")
        if not self.model.strip():
            raise InvalidConfig(
                "the model of an endpoint has no name; give the one that its server uses", field="model"
            )
        if self.most_requests < 1:
            raise InvalidConfig(f"most_requests must be at least 1, not {self.most_requests}", field="most_requests")
        object.__setattr__(self, "url", _check_url(self.url, self.kind))
        if self.key_variable is not None and not _VARIABLE.fullmatch(self.key_variable):
            # The value is not repeated: somebody may have given the key itself.
            raise InvalidConfig(
                "the key of an endpoint is given by the name of an environment variable, such as OPENAI_API_KEY",
                field="key_variable",
            )
        self._check_chat_options()

    def _check_chat_options(self) -> None:
        if self.kind != "openai-chat" and (self.extra or self.answers != "probabilities"):
            raise InvalidConfig("extra and answers are options of openai-chat alone", field="kind")
        if self.answers not in get_args(AnswerKind):
            raise InvalidConfig(f"answers is {self.answers!r}; take probabilities or sampled", field="answers")
        if own := sorted(_OWN_FIELDS & self.extra.keys()):
            raise InvalidConfig(f"extra has {', '.join(own)}, which Lens sets itself; leave it out", field="extra")
        try:
            written = json.dumps(dict(self.extra), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidConfig(f"extra is no JSON object: {error}", field="extra") from error
        json.loads(written, object_hook=_refuse_secrets)

    @property
    def name(self) -> str:
        """The reference: kind, model and address. It holds no key."""
        return f"{self.kind}:{self.model}@{self.url}"

    def read_key(self) -> str | None:
        """The key; None for a server that wants none.

        Raises:
            InvalidConfig: the variable is not set.
        """
        if self.key_variable is None:
            return None
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise InvalidConfig(
                f"the environment variable {self.key_variable}, which should hold the key of {self.url}, is not set",
                field="key_variable",
            )
        return key


def _refuse_secrets(fields: Mapping[str, Any]) -> None:
    if secret := [name for name in fields if _SECRET.fullmatch(name)]:
        raise InvalidConfig(
            f"extra has {secret[0]}, and a result shows extra; give a key by the name of an environment variable",
            field="extra",
        )


def is_endpoint(reference: str) -> bool:
    """Whether a reference of a model begins as that of an endpoint."""
    return reference.startswith(tuple(f"{kind}:" for kind in KINDS))


def parse_endpoint(reference: str) -> Endpoint | None:
    """The endpoint that a reference names, as KIND:MODEL@URL; None if it names something else.

    Raises:
        InvalidConfig: it begins as an endpoint does, and is none.
    """
    kind = next((one for one in KINDS if reference.startswith(f"{one}:")), None)
    if kind is None:
        return None
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise InvalidConfig(
            f"{kind}: is followed by model and address, as in {kind}:NAME@http://127.0.0.1:8000", field="model"
        )
    return Endpoint(kind, found["url"], found["model"])


def _check_url(url: str, kind: str) -> str:
    """The address without a slash at its end, and without the "/v1" that a token server's calls have themselves."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidConfig("the address of an endpoint begins with http:// or https:// and has a host", field="url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidConfig(
            "the address of an endpoint holds no user, password, query or fragment; give a key by the name of an "
            "environment variable",
            field="url",
        )
    url = url.rstrip("/")
    return url if kind == "openai-chat" else url.removesuffix("/v1")


_ENDPOINTS = TypeAdapter(dict[str, Endpoint])


def read_endpoints(source: str | Mapping[str, Any]) -> dict[str, Endpoint]:
    """Read models behind servers, each by the name under which `--model` and clients ask for it.

    Args:
        source: path of a TOML file (with that suffix) or of a JSON file; or the content of the latter, as text or as an
            object. Each entry has the fields of `Endpoint`.

    Raises:
        InvalidConfig: the file cannot be read, or entries are wrong; the message names file, server and field, and
            repeats nothing that may be a key.
    """
    is_path = isinstance(source, str) and not source.lstrip().startswith("{")
    where = f"{source}: " if is_path else ""
    try:
        found = source if isinstance(source, Mapping) else _parse(source, is_path=is_path)
        return _ENDPOINTS.validate_python(found)
    except ValidationError as error:
        raise InvalidConfig(where + "; ".join(map(_describe, error.errors())), field="endpoints") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not {_format_of(source)}: {error}"
        raise InvalidConfig(f"{where}{why}", field="endpoints") from error


def _format_of(source: object) -> str:
    return "TOML" if str(source).endswith(".toml") else "JSON"


def _parse(source: str, *, is_path: bool) -> Any:
    text = Path(source).expanduser().read_text("utf-8-sig") if is_path else source
    return tomllib.loads(text) if is_path and _format_of(source) == "TOML" else json.loads(text)


def _describe(fault: Any) -> str:
    if not fault["loc"]:
        return "must be an object of names and servers"
    server, *fields = fault["loc"]
    error, said = fault.get("ctx", {}).get("error"), fault["msg"]
    if isinstance(error, InvalidConfig):
        fields, said = [error.field], str(error)
    return ": ".join([f"server {server!r}", *([".".join(map(str, fields))] if fields else []), said])
