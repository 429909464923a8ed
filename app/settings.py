"""Settings of the service, read from the environment and checked when a process starts."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.model_settings import KeyHash, ModelSettings, PostgresAddress, RedisAddress

_VARIABLES_ONLY = frozenset({"allow_testing_models", "embeddings"})
"""Settings that let others run code here, or that the engine reads from the environment. A `.env` lies in any folder in
which somebody calls `lens`."""


class _VariablesThenFile(PydanticBaseSettingsSource):
    """Variables, and the lines of `.env` for other settings.

    By default the JSON objects of both are merged, so a variable could not take away a model of `.env`.
    """

    def __init__(
        self, settings_cls: type[BaseSettings], variables: PydanticBaseSettingsSource, file: PydanticBaseSettingsSource
    ) -> None:
        super().__init__(settings_cls)
        self._variables = variables
        self._file = file

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._variables.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        file = {name: value for name, value in self._file().items() if name not in _VARIABLES_ONLY}
        return {**file, **self._variables()}


class Settings(ModelSettings):
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

    # Liveness. A worker holds a job by a lease that it renews. The sweep takes over expired leases.
    lease_seconds: float = Field(
        60.0, gt=0, description="Time for which a silent worker keeps its job before another may take it (seconds)."
    )
    lease_renew_seconds: float = Field(15.0, gt=0, description="Time between two renewals of a lease (seconds).")
    sweep_interval_seconds: float = Field(15.0, gt=0, description="Time between two sweeps of the API (seconds).")
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
    max_attempts: int = Field(3, ge=1, le=100, description="Number of crashes after which a job fails.")
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
        None,
        ge=1,
        description="Maximum number of pairs of a job, and default of the option `budget.max_pairs`; null for no "
        "maximum.",
    )
    max_cost_usd: float | None = Field(
        None,
        gt=0,
        description="Maximum cost of a job at a server whose prices `LENS_ENDPOINTS` has, and default of the option "
        "`budget.max_cost` there (USD); null for no maximum.",
    )

    silent_seconds: float | None = Field(
        60.0,
        ge=1,
        description="Time for which the event loop of an API process may be silent; then the process ends, and is "
        "started again by `lens up` or Docker (seconds); null for no limit.",
    )

    # Clients. Their keys are in the database.
    require_keys: bool = Field(
        False,
        description="Whether every request needs a key, also before the first was made; needed to listen on the "
        "network.",
    )
    key_cache_seconds: float = Field(
        3.0, ge=0, le=60, description="Time after which a new or revoked key takes effect (seconds)."
    )

    # Limits of an upload.
    max_upload_bytes: int = Field(
        50 * 2**20,
        ge=1024,
        description="Maximum size of a body with rows (bytes): of a selection, a dataset or a file to classify.",
    )
    max_stored_bytes: int = Field(
        100 * 2**20,
        ge=1024,
        description="Maximum size of the rows of a file to classify as they are stored, with all columns (bytes).",
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
        100, ge=1, description="Number of jobs of one owner that may be queued or running; null for no maximum."
    )
    max_owner_bytes: int | None = Field(
        2**30,
        ge=1,
        description="Size of all that one owner may have stored (bytes): rows, answers, specs, results, classifiers, "
        "pools, checkpoints and contents of names; null for no maximum.",
    )
    max_body_bytes: int = Field(2**19, ge=1024, description="Maximum size of any other body (bytes).")
    max_rows: int = Field(100_000, ge=1, description="Maximum number of rows of a dataset.")
    max_labels: int = Field(200, ge=2, description="Maximum number of labels of a dataset.")
    max_text_characters: int = Field(20_000, ge=1, le=131_072, description="Maximum length of a text (characters).")
    max_label_characters: int = Field(200, ge=1, le=131_072, description="Maximum length of a label (characters).")
    spool_dir: Path | None = Field(
        None, description="Folder for uploads while they are read; null for the system default."
    )

    max_index_mib: int = Field(
        256,
        ge=1,
        description="Size of the pools that an API process holds in memory, with the indexes in which it finds the "
        "examples of an input; those that nobody asked for the longest time are read anew (MiB). The newest is held "
        "whatever its size.",
    )

    # HTTP.
    retry_after_seconds: int = Field(
        2, ge=1, description="Shortest time between two polls of a client (seconds); longer while much is left to do."
    )
    resume_days: float = Field(
        7.0, ge=0, description="Time for which a cancelled selection keeps its checkpoint for a resume (days)."
    )
    keep_days: float | None = Field(
        None, gt=0, description="Time after its end at which a job is deleted (days); null for never."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="DEBUG, INFO, WARNING, ERROR.")
    log_format: Literal["json", "text"] = Field("json", description="Form of a log line: json or text.")
    metrics_key_hash: KeyHash | None = Field(
        None, repr=False, description="SHA-256 (hex) of the key that reads /metrics."
    )
    worker_health_file: Path | None = Field(
        None,
        description="File that a worker touches once its models and its device are sound, and then at least every 45 "
        "seconds, for a health check; null for none.",
    )

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
        return self
