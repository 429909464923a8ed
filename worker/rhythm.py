"""How often a heartbeat does what."""

from dataclasses import dataclass

from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Intervals and time limits of a heartbeat (seconds), and the largest checkpoint (bytes)."""

    lease: float
    renew: float
    stall: float
    load: float = 3600.0  #: takes the place of `stall` while the model is loaded
    look: float = 1.0  #: between two looks for a cancel request
    progress: float = 3.0  #: between two writes of progress
    checkpoint: float = 5.0  #: between two writes of checkpoints
    longest_pause: float = 5.0
    max_checkpoint_bytes: int = 256 * 2**20

    @classmethod
    def of(cls, settings: Settings) -> "Rhythm":
        renew = settings.lease_renew_seconds
        return cls(
            lease=settings.lease_seconds,
            renew=renew,
            stall=settings.stall_seconds,
            load=settings.load_seconds,
            look=min(1.0, renew),
            progress=min(3.0, renew),
            checkpoint=min(5.0, renew),
            longest_pause=min(5.0, renew),  # after an outage, the sweep waits for one lease
            max_checkpoint_bytes=settings.max_checkpoint_mib * 2**20,
        )
