"""What a run tells its observer, and how an observer asks it to stop."""

from dataclasses import dataclass
from typing import Protocol

from lens_engine.types import Phase, StopReason


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. A pair is one prefix and one query scored; tokens are those fed to the model."""

    phase: Phase
    step: int  #: step of the phase under way, from 1
    steps: int
    pairs_done: int
    pairs_total: int  #: planned; savings found on the way make the real figure smaller
    tokens_done: int
    tokens_total: int
    tokens_per_second: float | None
    eta_seconds: float | None
    best_validation_accuracy: float | None


class SelectionListener(Protocol):
    """Called between chunks of scoring, on the computing thread; must be quick and must not raise."""

    def on_progress(self, progress: Progress) -> None: ...

    def stop_requested(self) -> StopReason | None:
        """A reason to stop at the next chunk, or None to go on."""
        ...


class SilentListener:
    """Hears nothing and never asks to stop."""

    def on_progress(self, progress: Progress) -> None:
        pass

    def stop_requested(self) -> StopReason | None:
        return None
