"""Settings of the service under test: short leases, so that faults are noticed in seconds, and three owners."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from tests.chaos.submissions import BUNDLED, TABLE_MODEL
from tests.e2e.stack import environment_of

OWNERS = ("ada", "ben", "cleo")
MARK = "LENS_CHAOS_RUN"
"""Variable that names the run, in every process that it starts."""

LEASE_SECONDS = 4.0
SWEEP_SECONDS = 1.0
BACKOFF_SECONDS = 0.2
MAX_ATTEMPTS = 5
STOP_GRACE_SECONDS = 5.0


def key_of(owner: str) -> str:
    """The API key of an owner."""
    return f"key-of-{owner}"


def values_of(folder: Path) -> dict[str, object]:
    """Settings that all processes have in common."""
    return {
        "queue_name": "chaos",
        "lease_seconds": LEASE_SECONDS,
        "lease_renew_seconds": 1.0,
        "sweep_interval_seconds": SWEEP_SECONDS,
        "retry_backoff_seconds": BACKOFF_SECONDS,
        "max_attempts": MAX_ATTEMPTS,
        "stall_seconds": 60.0,
        "stop_grace_seconds": STOP_GRACE_SECONDS,
        "retry_after_seconds": 1,
        "api_keys": {hashlib.sha256(key_of(owner).encode()).hexdigest(): owner for owner in OWNERS},
        "rate_requests": None,
        "rate_submissions": None,
        "allow_testing_models": True,
        "allowed_models": {TABLE_MODEL: "testing:tests.chaos.scorers:unhurried", BUNDLED: BUNDLED_MODEL},
        "default_model": TABLE_MODEL,
        "device": "cpu",
        "dtype": "float32",
        "spool_dir": _folder(folder / "spool"),
    }


def environment_of_member(
    values: Mapping[str, object], folder: Path, postgres_port: int, redis_port: int
) -> dict[str, str]:
    """Variables of one process, which reaches the stores through its own proxies."""
    addresses = {
        "database_url": f"postgresql+psycopg://lens@127.0.0.1:{postgres_port}/lens",
        "redis_url": f"redis://127.0.0.1:{redis_port}/0",
    }
    folders = {"TMPDIR": folder / "tmp", "TORCHINDUCTOR_CACHE_DIR": folder / "inductor"}  # torch makes one and keeps it
    return {**environment_of({**values, **addresses}), **{name: str(_folder(path)) for name, path in folders.items()}}


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path
