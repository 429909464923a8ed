"""Settings of the models that the service offers, and of the workers that ask them; forms of the values of settings."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator
from pydantic_settings import BaseSettings, NoDecode

from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.model.servers.address import Endpoint, is_endpoint, read_endpoints

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
"""Empty, or what `lens_engine.model.cluster.scorer.find_place` takes."""

KeyHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Models = Annotated[dict[str, str], AfterValidator(_check_models)]
Endpoints = Annotated[dict[str, Endpoint], BeforeValidator(read_endpoints), AfterValidator(_check_models)]


class ModelSettings(BaseSettings):
    """The part of `Settings` that is about models."""

    allowed_models: Models = Field(
        {BUNDLED_MODEL: BUNDLED_MODEL},
        description="JSON object: name of a model for clients -> bundled name, folder, `.gguf` file or hub id.",
    )
    endpoints: Annotated[Endpoints, NoDecode] = Field(
        {},
        description="File of models behind servers, TOML or JSON, or its content as JSON: name of a model for "
        "clients -> `kind`, `url`, `model`, and optionally `key_variable`, `tokenizer`, `prices`, `most_requests`, "
        "`context`, `answers`, `extra`.",
    )
    default_model: str = Field(BUNDLED_MODEL, description="Model of a spec that names none.")
    worker_models: Literal["weights", "endpoints"] = Field(
        "weights",
        description="Jobs that a worker takes: of models that it loads, or of models behind servers (`endpoints`).",
    )
    allow_testing_models: bool = Field(
        False, description="Models of the form `testing:module:function` (for tests only). Not read from `.env`."
    )
    embeddings: Path | None = Field(
        None,
        description="Folder of the embedder that the option `classifier.embeddings` means by `auto`; null for the "
        "bundled one. Not read from `.env`.",
    )
    device: str = Field("auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$", description="auto, cpu, mps, cuda or cuda:1.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number format: float32, bfloat16, float16, or auto: bfloat16 where the device has it."
    )
    ray_address: RayAddress | None = Field(
        None, description="Ray cluster whose devices share each selection: `host:port` or `local`; null for one device."
    )
    ray_actors: int | None = Field(
        None, ge=1, description="Number of actors that hold the model; null for one on each GPU of the cluster."
    )
    cache_dir: Path = Field(
        default_factory=lambda: Path.home() / ".cache" / "lens",
        description="Folder for converted weights and the pair cache; may be deleted at any time.",
    )
    pair_cache_mib: int = Field(256, ge=0, description="Size of the score cache on disk (MiB); 0 for no cache.")
    answers_addresses: Annotated[tuple[HttpAddress, ...], NoDecode, BeforeValidator(split_addresses)] = Field(
        ("http://127.0.0.1:8090",),
        description="Addresses of the processes that answer at once (`lens answers`), which the API asks, with commas "
        "between them.",
    )
    answers_token: Annotated[Token | None, BeforeValidator(lambda value: value or None)] = Field(
        None,
        repr=False,
        description="Secret of the API and of these processes, of at least 16 characters; needed unless they listen on "
        "this machine only.",
    )
    answers_memory_mib: int | None = Field(
        None,
        ge=1,
        description="Size of the weights that a process that answers at once holds (MiB); those that nobody asked for "
        "the longest time are loaded anew. null for half of the memory of its device.",
    )
    queue_name: str = Field("lens", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Name of the queue.")

    @property
    def offered_models(self) -> tuple[str, ...]:
        """Names of the models that a client can name."""
        return (*self.allowed_models, *self.endpoints)

    def queue_of(self, model: str | None) -> str:
        """Name of the queue of the jobs of a model; None for a job that asks no model.

        Without a model to load, all jobs are for workers that ask servers, because there may be no other worker.
        """
        is_asked = model in self.endpoints or not self.allowed_models
        return f"{self.queue_name}-endpoints" if is_asked else self.queue_name

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of all queues."""
        return tuple(dict.fromkeys(map(self.queue_of, (None, *self.endpoints))))

    @property
    def worker_queue(self) -> str:
        """Name of the queue of a worker."""
        return self.queue_name if self.worker_models == "weights" else f"{self.queue_name}-endpoints"

    @model_validator(mode="after")
    def has_models_that_fit_together(self) -> Self:
        doubles = [name for name, reference in self.allowed_models.items() if reference.startswith("testing:")]
        if doubles and not self.allow_testing_models:
            raise ValueError(
                f"allowed_models {', '.join(doubles)}: `testing:` requires the variable LENS_ALLOW_TESTING_MODELS"
            )
        twice = [name for name in self.endpoints if name in self.allowed_models]
        if twice:
            raise ValueError(f"{', '.join(twice)}: allowed_models and endpoints have the same name")
        served = [name for name, reference in self.allowed_models.items() if is_endpoint(reference)]
        if served:
            raise ValueError(f"allowed_models {', '.join(served)}: a model behind a server belongs in endpoints")
        away = [one for one in self.answers_addresses if not is_loopback(urlsplit(one).hostname or "")]
        if away and self.answers_token is None:
            raise ValueError(f"answers_addresses {', '.join(away)}: another machine needs LENS_ANSWERS_TOKEN")
        if self.default_model not in self.offered_models:
            raise ValueError("default_model must be one of allowed_models or endpoints")
        return self
