"""Forms of the values of settings."""

import re
from typing import Annotated, TypeVar

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


def _check_models(models: dict[str, M]) -> dict[str, M]:
    if any(not _MODEL_NAME.fullmatch(name) for name in models):
        raise ValueError(
            "a model name must have 1 to 100 letters, digits, dots, dashes or underscores; it may be a hub id"
        )
    return models


PostgresAddress = Annotated[str, AfterValidator(_use_psycopg)]
RedisAddress = Annotated[str, AfterValidator(_check_redis)]
RayAddress = Annotated[str, StringConstraints(pattern=r"^(|local|[^\s/]+:\d{1,5})$")]
"""Empty, or what `lens_engine.cluster.placement.find_place` takes."""

KeyHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Models = Annotated[dict[str, str], AfterValidator(_check_models)]
Endpoints = Annotated[dict[str, Endpoint], BeforeValidator(read_endpoints), AfterValidator(_check_models)]
