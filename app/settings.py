"""Settings of the service, read from the environment and checked when a process starts."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from app.setting_types import (
    Endpoints,
    KeyHash,
    Keys,
    Models,
    PostgresAddress,
    Rate,
    RayAddress,
    RedisAddress,
    read_keys,
)
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.scoring.endpoints.address import is_endpoint

_VARIABLES_ONLY = frozenset({"allow_testing_models"})
"""Settings that let others run code here. A `.env` lies in any folder in which somebody calls `lens`."""


class _VariablesThenFile(PydanticBaseSettingsSource):
    """Variables, and the lines of `.env` for other settings.

    By default the JSON objects of both are merged, so a variable could not take away a key or a model of `.env`.
    """

    def __init__(
        self,
        settings_cls: type[BaseSettings],
        variables: PydanticBaseSettingsSource,
        file: PydanticBaseSettingsSource,
    ) -> None:
        super().__init__(settings_cls)
        self._variables = variables
        self._file = file

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._variables.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        file = {name: value for name, value in self._file().items() if name not in _VARIABLES_ONLY}
        return {**file, **self._variables()}


class Settings(BaseSettings):
    """Values of `LENS_*` variables, then of `.env`. An invalid value stops the process and is named."""

    model_config = SettingsConfigDict(
        env_prefix="LENS_",
        env_file=".env",
        env_parse_none_str="null",  # lets a variable unset a value of `.env`
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    # Stores. Addresses contain passwords and therefore stay out of the repr.
    database_url: PostgresAddress = Field(
        "postgresql+psycopg://lens:lens@localhost:5432/lens", repr=False, description="Address of Postgres."
    )
    database_pool_size: int = Field(
        15, ge=1, le=200, description="Number of connections that the API process opens when it needs them, and keeps."
    )
    statement_timeout_seconds: float = Field(10.0, gt=0, description="Time limit of one SQL statement (seconds).")
    redis_url: RedisAddress = Field(
        "redis://localhost:6379/0", repr=False, description="Address of Redis: `redis://`, `rediss://` or `unix://`."
    )
    queue_name: str = Field("lens", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Name of the queue.")

    # Liveness. A worker holds a selection by a lease that it renews. The sweep takes over expired leases.
    lease_seconds: float = Field(
        60.0,
        gt=0,
        description="Time for which a silent worker keeps its selection before another may take it (seconds).",
    )
    lease_renew_seconds: float = Field(15.0, gt=0, description="Time between two renewals of a lease (seconds).")
    sweep_interval_seconds: float = Field(
        15.0,
        gt=0,
        description="Time between two sweeps of the API, and age from which one enqueues a new selection (seconds).",
    )
    stall_seconds: float = Field(
        600.0, gt=0, description="Time without progress after which a run is killed (seconds)."
    )
    load_seconds: float = Field(
        3600.0, gt=0, description="Time after which a run that loads its model is killed (seconds)."
    )
    stop_grace_seconds: float = Field(
        5.0,
        gt=0,
        description="Time after a cancel request in which a run may end by itself; then it is killed, and the best of "
        "its checkpoint is kept (seconds).",
    )
    max_checkpoint_mib: int = Field(
        256, ge=1, le=900, description="Maximum size of a checkpoint; a larger one is not stored (MiB)."
    )
    max_attempts: int = Field(3, ge=1, le=100, description="Number of crashes after which a selection fails.")
    retry_backoff_seconds: float = Field(
        5.0, ge=0, le=3600, description="Wait after the first crash; doubles with each crash up to one hour (seconds)."
    )
    job_timeout_seconds: int = Field(
        86_400,
        ge=1,
        le=31_536_000,
        description="Time after which a run is killed (seconds). The search ends before that with the best so far.",
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        le=31_536_000,
        description="Maximum and default of the option `budget.max_seconds` (seconds); null for no maximum.",
    )
    max_pairs: int | None = Field(
        None, ge=1, description="Maximum and default of the option `budget.max_pairs`; null for no maximum."
    )

    # Clients. `api_keys` is a JSON object from the SHA-256 of an API key (hex) to the owner.
    api_keys: Annotated[Keys | None, NoDecode, BeforeValidator(read_keys)] = Field(
        None, repr=False, description="JSON object: SHA-256 of an API key (hex) -> owner; null for none."
    )
    require_keys: bool = Field(
        False,
        description="Whether every request needs a key, also without `api_keys`; needed to listen on the network.",
    )
    key_cache_seconds: float = Field(
        3.0, ge=0, le=60, description="Time after which a new or revoked key of the database takes effect (seconds)."
    )

    rate_requests: Rate | None = Field(
        "1200/minute",
        description="Number of requests of one owner in a moving window, as `1200/minute`; null for no limit.",
    )
    rate_submissions: Rate | None = Field(
        "60/minute",
        description="Number of submissions, retries, resumes and changes of names of one owner in a moving window; "
        "null for no limit.",
    )

    # Limits of an upload.
    max_upload_bytes: int = Field(
        50 * 2**20,
        ge=1024,
        description="Maximum size of a body with rows (bytes): of a selection, evaluation, prediction or dataset.",
    )
    max_json_bytes: int = Field(8 * 2**20, ge=1024, description="Maximum size of such a body that is JSON (bytes).")
    max_submissions: int = Field(
        4,
        ge=1,
        le=40,
        description="Number of submissions of up to 64 KiB that an API process validates and stores at the same time.",
    )
    max_waiting_submissions: int = Field(
        16, ge=0, le=1000, description="Number of further submissions that are read or wait; more of them get 503."
    )
    max_selections: int | None = Field(
        100, ge=1, description="Number of selections of one owner that may be queued or running; null for no maximum."
    )
    max_owner_bytes: int | None = Field(
        2**30,
        ge=1,
        description="Size of the texts, labels and contents of names that one owner may have stored (bytes); null for "
        "no maximum.",
    )
    max_body_bytes: int = Field(2**19, ge=1024, description="Maximum size of any other body (bytes).")
    max_rows: int = Field(100_000, ge=1, description="Maximum number of rows of a dataset.")
    max_labels: int = Field(200, ge=2, description="Maximum number of labels of a dataset.")
    max_text_characters: int = Field(20_000, ge=1, le=131_072, description="Maximum length of a text (characters).")
    max_label_characters: int = Field(200, ge=1, le=131_072, description="Maximum length of a label (characters).")
    spool_dir: Path | None = Field(
        None, description="Folder for uploads while they are read; null for the system default."
    )

    # Models. A JSON object from the name that a client gives to the model that the worker loads.
    allowed_models: Models = Field(
        {BUNDLED_MODEL: BUNDLED_MODEL},
        description="JSON object: name of a model for clients -> bundled name, folder, `.gguf` file or hub id.",
    )
    endpoints: Endpoints = Field(
        {},
        description="JSON object: name of a model for clients -> server that is asked for it: `kind`, `url`, `model`, "
        "and optionally `key_variable`, `tokenizer`, `prices`, `most_requests`, `context`.",
    )
    default_model: str = Field(BUNDLED_MODEL, description="Model of a spec that names none.")
    worker_models: Literal["weights", "endpoints"] = Field(
        "weights",
        description="Jobs that a worker takes: of models that it loads, or of models behind servers (`endpoints`).",
    )
    allow_testing_models: bool = Field(
        False, description="Models of the form `testing:module:function` (for tests only). Not read from `.env`."
    )
    device: str = Field("auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$", description="Device of a worker.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number format; auto for the most precise of the fast ones."
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

    # HTTP.
    retry_after_seconds: int = Field(
        2, ge=1, description="Shortest time between two polls of a client (seconds); longer while much is left to do."
    )
    resume_days: float = Field(
        7.0, ge=0, description="Time for which a cancelled selection keeps its checkpoint for a resume (days)."
    )
    keep_days: float | None = Field(
        None, gt=0, description="Time after its end at which a selection is deleted (days); null for never."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Level of the log.")
    log_format: Literal["json", "text"] = Field("json", description="Form of a log line.")
    metrics_key_hash: KeyHash | None = Field(
        None, repr=False, description="SHA-256 (hex) of the key that reads /metrics."
    )
    worker_metrics_port: int | None = Field(
        None, ge=1, le=65_535, description="Port on which a worker shows its own metrics; null for none."
    )
    worker_metrics_host: str = Field("127.0.0.1", description="Address on which a worker shows its own metrics.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _VariablesThenFile(settings_cls, env_settings, dotenv_settings), file_secret_settings

    @property
    def is_open(self) -> bool:
        """Whether the settings ask for no key. Such a service answers this machine only."""
        return self.api_keys is None and not self.require_keys

    @property
    def offered_models(self) -> tuple[str, ...]:
        """Names of the models that a client can name."""
        return (*self.allowed_models, *self.endpoints)

    def queue_of(self, model: str | None) -> str:
        """Name of the queue of the jobs of a model; None for a job that asks no model."""
        return f"{self.queue_name}-endpoints" if model in self.endpoints else self.queue_name

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of all queues."""
        return tuple(dict.fromkeys(map(self.queue_of, (None, *self.endpoints))))

    @property
    def worker_queue(self) -> str:
        """Name of the queue of a worker."""
        return self.queue_name if self.worker_models == "weights" else f"{self.queue_name}-endpoints"

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        if self.lease_renew_seconds * 2 > self.lease_seconds:
            raise ValueError(
                "lease_renew_seconds must be at most half of lease_seconds, or one late renewal loses the lease"
            )
        if self.sweep_interval_seconds * 3 > self.lease_seconds:
            raise ValueError(
                "sweep_interval_seconds must be at most a third of lease_seconds, or the sweep cannot tell an outage "
                "of Postgres from its own pauses"
            )
        if self.stall_seconds <= self.lease_renew_seconds:
            raise ValueError("stall_seconds must exceed lease_renew_seconds")
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
            raise ValueError(f"allowed_models {', '.join(served)}: a model behind a server belongs into endpoints")
        if self.default_model not in self.offered_models:
            raise ValueError("default_model must be one of allowed_models or endpoints")
        return self
