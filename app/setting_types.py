"""Forms of the values of settings."""

import ipaddress
import re
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from lens_engine.servers.address import Endpoint
from lens_engine.servers.file import read_endpoints

M = TypeVar("M")

OWNER_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MODEL_NAME = re.compile(r"(?=.{1,100}$)[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
"""A plain name, or a hub id."""


def _use_psycopg(url: str) -> str:
    """Use psycopg 3 for `postgres://` and `postgresql://`."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise ValueError("must be a postgresql:// address")
    return f"postgresql+psycopg://{rest}"


def _check_redis(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must be a redis://, rediss:// or unix:// address")
    return url


def is_loopback(host: str) -> bool:
    """Whether a host of an address is this machine: `localhost` or a loopback address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def split_addresses(value: object) -> object:
    return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value


def _check_http(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be http:// or https:// addresses, with commas between them")
    return address.rstrip("/")


def _check_models(models: dict[str, M]) -> dict[str, M]:
    if any(not _MODEL_NAME.fullmatch(name) for name in models):
        raise ValueError(
            "a model name must have 1 to 100 letters, digits, dots, dashes or underscores; it may be a hub id"
        )
    return models


PostgresAddress = Annotated[str, AfterValidator(_use_psycopg)]
RedisAddress = Annotated[str, AfterValidator(_check_redis)]
HttpAddress = Annotated[str, AfterValidator(_check_http)]
Token = Annotated[str, StringConstraints(min_length=16, pattern=r"^[!-~]+$")]
"""Of a header. At least 16 characters, which nobody guesses."""

RayAddress = Annotated[str, StringConstraints(pattern=r"^(|local|[^\s/]+:\d{1,5})$")]
"""Empty, or what `lens_engine.cluster.placement.find_place` takes."""

KeyHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Models = Annotated[dict[str, str], AfterValidator(_check_models)]
Endpoints = Annotated[dict[str, Endpoint], BeforeValidator(read_endpoints), AfterValidator(_check_models)]
