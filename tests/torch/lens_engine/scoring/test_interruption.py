"""A stop is heard while the model computes."""

from collections.abc import Callable

import pytest

from lens_engine.config import BudgetOptions
from lens_engine.local.load import scorer_from_model
from lens_engine.local.scorer import CausalLMScorer
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.scoring import interruption
from lens_engine.scoring.interruption import interrupted_by, look_up
from lens_engine.testing import tiny_causal_lm
from lens_engine.types import StopReason


class Ended(Exception):
    pass


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> CausalLMScorer:
    monkeypatch.setattr(interruption, "_SECONDS", 0.0)
    tiny = tiny_causal_lm("llama")
    return scorer_from_model(tiny.model, tiny.tokenizer)


def end_after(looks: int) -> Callable[[], None]:
    """Raises at this look, counted from 1."""
    left = iter(range(looks - 1))

    def look() -> None:
        if next(left, None) is None:
            raise Ended

    return look


@pytest.mark.parametrize("looks", [1, 2])
def test_forward_ends_between_two_layers_and_the_next_call_is_right(scorer: CausalLMScorer, looks: int) -> None:
    call = ([("one two",), ()], ["three", "four five"], [" a", " b"])
    expected = scorer.score(*call)

    with interrupted_by(end_after(looks)), pytest.raises(Ended):
        scorer.score(*call)
    with interrupted_by(end_after(looks)), pytest.raises(Ended):
        scorer.states((), ["three"], (2,))

    assert (scorer.score(*call) == expected).all()


def test_nobody_is_asked_outside_the_context() -> None:
    with interrupted_by(end_after(1)):
        pass
    look_up()


class Stopping(SilentListener):
    """Asks for a stop once a forward has begun."""

    looks = 0

    def stop_requested(self) -> StopReason | None:
        self.looks += 1
        return StopReason.CANCELLED if self.looks > 1 else None


@pytest.mark.parametrize("reads_states", [False, True])
def test_listener_stops_a_run_within_one_forward(scorer: CausalLMScorer, reads_states: bool) -> None:
    meter = Meter(scorer, (" a", " b"), Stopping(), BudgetOptions(), planned=Cost(1, 10))

    with pytest.raises(Stopped) as stopped:
        meter.states((), ["one"], (1,)) if reads_states else meter.score([()], ["one"])

    assert stopped.value.reason is StopReason.CANCELLED
    assert meter.spent == Cost()
