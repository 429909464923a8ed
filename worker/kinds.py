"""The kinds of jobs: how each is run. A run returns its outcome, or None if it was cancelled and found nothing."""

from collections.abc import Callable, Mapping

from app.lifecycle.results import Outcome
from worker.classifying import run_evaluation, run_prediction
from worker.running import Running
from worker.selecting import run_selection

Run = Callable[[Running], Outcome | None]

RUNS: Mapping[str, Run] = {
    "selection": run_selection,
    "evaluation": run_evaluation,
    "prediction": run_prediction,
}
