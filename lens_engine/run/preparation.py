"""Preparation of a run: its rows, its method, its price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.metering.progress import SelectionListener, SilentListener
from lens_engine.methods.base import Method, Run
from lens_engine.methods.catalogue import make_method
from lens_engine.pricing.estimate import CostEstimate, estimate_by_words, measure_lengths, measure_pace
from lens_engine.pricing.prices import Prices
from lens_engine.pricing.split_sizes import count_splits
from lens_engine.rows.context import FittedRows, fit_to_context
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.evaluation import price_evaluation, reserve_for_classifier
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import Example, Phase


@dataclass(frozen=True)
class PreparedRun:
    """A problem, its splits fitted to the context, the method, and a meter with the planned cost."""

    problem: Problem
    fitted: FittedRows
    run: Run
    method: Method[Any]
    meter: Meter


def prepare_run(
    problem: Problem,
    scorer: LabelScorer,
    config: SelectionConfig,
    listener: SelectionListener | None = None,
    fine_tuner: FineTuner | None = None,
) -> PreparedRun:
    """Cut the splits, fit them to the model's context, and price the run.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
    """
    task = problem.task
    fitted = fit_to_context(split_examples(problem, config), task, scorer, config)
    prices = Prices(fitted.rows, config, measure_lengths(fitted.rows, task, scorer))
    run = Run(task, config, fitted.rows, prices, fine_tuner, scorer.identity.dtype)
    method = make_method(run)
    meter = Meter(
        scorer=scorer,
        label_spans=task.label_spans,
        listener=listener or SilentListener(),
        budget=config.budget,
        planned=sum(price_run(run, method).values(), Cost()),
        reserve=prices.testing(method.num_demonstrations) + reserve_for_classifier(run, method),
    )
    return PreparedRun(problem, fitted, run, method, meter)


def price_run(run: Run, method: Method[Any]) -> dict[Phase, Cost]:
    """The cost of each phase when every permutation is judged on every row."""
    return {**method.price(), Phase.EVALUATE: price_evaluation(run, method)}


def estimate_cost(problem: Problem, scorer: LabelScorer, config: SelectionConfig) -> CostEstimate:
    """Pairs, tokens and seconds of the whole run, by phase, and the rows of each split.

    A budget may end the run earlier.

    The scorer counts the tokens. The pace (tokens per second) is measured on a small sample.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
    """
    return estimate_costs(problem, scorer, [config])[0]


def estimate_costs(problem: Problem, scorer: LabelScorer, configs: Sequence[SelectionConfig]) -> list[CostEstimate]:
    """The same for several configurations of one problem; the pace is measured once.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
    """
    prepared = [prepare_run(problem, scorer, config) for config in configs]
    pace = measure_pace(prepared[0].run.rows, problem.task, scorer)
    by_words: dict[frozenset[Example], float] = {}  # presets often look at the same labelled rows
    estimates = []
    for one in prepared:
        labelled = list_labelled_rows(one.run.rows, one.run.config.classifier.fit_rows)
        if frozenset(labelled) not in by_words:
            by_words[frozenset(labelled)] = estimate_by_words(labelled, problem.task)
        estimates.append(_estimate(one, by_words[frozenset(labelled)]).at_pace(pace))
    return estimates


def _estimate(prepared: PreparedRun, words_accuracy: float) -> CostEstimate:
    """An estimate without seconds."""
    demonstrations = prepared.run.config.classifier.max_prompts * prepared.method.num_demonstrations
    return CostEstimate(
        price_run(prepared.run, prepared.method),
        words_accuracy=words_accuracy,
        splits=count_splits(prepared.fitted),
        fit_rows=prepared.run.prices.fit_rows(demonstrations),
    )
