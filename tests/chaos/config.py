"""What to run, and the settings of the service under test: short leases, so that a fault is noticed in seconds."""

from dataclasses import dataclass
from pathlib import Path

from lens_engine.model.local.model_files import BUNDLED_MODEL
from tests.chaos.submissions import BUNDLED, TABLE_MODEL

OWNERS = ("ada", "ben", "cleo")
MARK = "LENS_CHAOS_RUN"
"""Variable that names the run, in every process that it starts."""
MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault of the table. `place` chooses among the processes that can have it."""

    at: float  #: seconds since the beginning
    kind: str
    place: int
    seconds: float  #: until it is mended; a fault that is over at once ignores it


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. Times in seconds."""

    seed: int
    seconds: float
    folder: Path
    num_apis: int = 2
    num_workers: int = 3
    num_clients: int = 9
    num_variants: int = 12
    with_model: bool = False  #: one of the clients submits selections with the bundled model
    calm_seconds: float = 180.0  #: longest wait for all ends


def settings_of(folder: Path) -> dict[str, object]:
    """Settings that all processes have in common."""
    for name in ("spool", "tmp", "inductor"):
        (folder / name).mkdir(exist_ok=True)
    return {
        "queue_name": "chaos",
        "lease_seconds": 4.0,
        "lease_renew_seconds": 1.0,
        "sweep_interval_seconds": 1.0,
        "retry_backoff_seconds": 0.2,
        "max_attempts": MAX_ATTEMPTS,
        "stall_seconds": 60.0,
        "stop_grace_seconds": 5.0,
        "retry_after_seconds": 1,
        "require_keys": True,
        "max_selections": None,
        "allow_testing_models": True,
        "allowed_models": {TABLE_MODEL: "testing:tests.e2e.scorers:unhurried", BUNDLED: BUNDLED_MODEL},
        "default_model": TABLE_MODEL,
        "device": "cpu",
        "dtype": "float32",
        "spool_dir": folder / "spool",
    }
