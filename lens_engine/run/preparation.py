"""Preparation of a run: its rows, its method, its price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig, InvalidInput
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.metering.cost import Cost
from lens_engine.metering.estimate import (
    CostEstimate,
    estimate_by_words,
    measure_lengths,
    measure_pace,
    share_of_largest,
)
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Prices, TokenLengths
from lens_engine.metering.progress import SelectionListener, SilentListener
from lens_engine.result import Splits
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.rows.problem import Problem, check_problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.run.budget_checks import check_budget, check_prices
from lens_engine.run.comparison_plan import price_comparison, reserve_for_test
from lens_engine.run.wordings import price_wordings, refuse_wordings
from lens_engine.scoring.asking import fit_task, gives_answers_only
from lens_engine.scoring.base import LabelScorer, OpenModel, find_scorer
from lens_engine.scoring.spending import find_paid_scorer
from lens_engine.scoring.states import find_states_scorer
from lens_engine.search.base import Method, Run
from lens_engine.search.catalogue import make_method
from lens_engine.task.language import warn_of_language
from lens_engine.task.template import Task
from lens_engine.types import Phase


@dataclass(frozen=True)
class PreparedRun:
    """A problem, its run, the method, and a meter with the planned cost."""

    problem: Problem
    run: Run
    method: Method[Any]
    meter: Meter
    runs: tuple[Run, ...]  #: the run in each wording; `run` is one of them

    def in_wording(self, place: int) -> "PreparedRun":
        """The run in another wording. The meter asks for its label words from now on."""
        run = self.runs[place]
        method = make_method(run)
        self.meter.use_label_spans(run.task.label_spans)
        self.meter.limits.reserve = reserve_for_test(run, method)
        return replace(self, run=run, method=method)

    @cached_property
    def foreign_texts(self) -> str | None:
        """A warning of texts that the bundled model reads badly. Every checkpoint has a result, so it is made once."""
        is_bundled = self.meter.scorer.identity.model == BUNDLED_MODEL
        return warn_of_language(self.problem.examples) if is_bundled else None


class Ends(NamedTuple):
    """When a run ends, as in `select_support_examples`."""

    deadline: float | None = None
    last_moment: float | None = None


NO_ENDS = Ends()


def prepare_run(
    problem: Problem,
    scorer: LabelScorer,
    config: SelectionConfig,
    listener: SelectionListener | None = None,
    ends: Ends = NO_ENDS,
) -> PreparedRun:
    """Cut the splits, fit them to the model's context, and price the run.

    Raises:
        InvalidDataset, InvalidVerbalizer, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
        EndpointError: the model is behind a server, which refuses.
        TypeError: `problem` or `config` has another type.
    """
    check_problem(problem)
    if not isinstance(config, SelectionConfig):
        raise TypeError(f"the config is of type {type(config).__name__}; write resolve_config(preset, options)")
    check_prices(config, scorer)
    runs = _make_runs(problem, scorer, config)
    run, method = runs[0], make_method(runs[0])
    meter = Meter(
        scorer=scorer,
        label_spans=run.task.label_spans,
        listener=listener or SilentListener(),
        budget=config.budget,
        planned=sum(price_run(runs, method).values(), Cost()),
        reserve=reserve_for_test(run, method),
        **ends._asdict(),
    )
    return PreparedRun(problem, run, method, meter, runs)


def split_within_budget(problem: Problem, config: SelectionConfig) -> SplitRows:
    """The splits, without a model: what can be refused before one is loaded.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig: as `select_support_examples`.
    """
    rows = split_examples(problem, config)
    run = Run(rows.task, config, rows, Prices(rows, config, TokenLengths(0.0, 0.0)))
    check_budget([run] * (1 + len(problem.alternatives)), make_method(run))
    return rows


def _make_runs(problem: Problem, scorer: LabelScorer, config: SelectionConfig) -> tuple[Run, ...]:
    """The run in each wording: the splits with the task as the model is asked, fitted to the context, and their prices.

    Both need every text's number of tokens.
    """
    has_probabilities = not gives_answers_only(scorer)
    if config.use == "probabilities" and not has_probabilities:
        raise InvalidConfig(
            "the model gives answers and no probabilities, so there are no label biases; take the use prompt",
            field="options.use",
        )
    splits, shows_states = split_examples(problem, config), find_states_scorer(scorer) is not None
    known = splits.task.verbalizer  # without the labels that are too rare
    others = (Task(one.template, known, one.separator, instruction=one.instruction) for one in problem.alternatives)
    runs, tasks, refused = [], (splits.task, *others), dict[int, InvalidInput]()
    for place, task in enumerate(tasks):
        try:
            rows = fit_to_context(replace(splits, task=fit_task(scorer, task)), scorer, config)
        except InvalidInput as error:
            refused[place] = error
            continue
        prices = Prices(rows, config, measure_lengths(rows, rows.task, scorer), has_probabilities)
        dtype = scorer.identity.dtype
        runs.append(Run(rows.task, config, rows, prices, dtype, shows_states, has_probabilities))
    if refused:
        raise refuse_wordings(tasks, refused)
    return tuple(runs)


def price_run(runs: Sequence[Run], method: Method[Any]) -> dict[Phase, Cost]:
    """The most that each phase costs; see `CostEstimate`.

    Args:
        runs: the run in each wording; `method` is of the first.
    """
    wording = {Phase.WORDING: price_wordings(runs)} if len(runs) > 1 else {}
    return {**wording, **method.price(), Phase.EVALUATE: price_comparison(runs[0], method)}


def estimate_cost(problem: Problem, scorer: LabelScorer | OpenModel, config: SelectionConfig) -> CostEstimate:
    """Pairs, tokens and seconds of the whole run, by phase, and the rows of each split.

    A budget may end the run earlier. For a model behind a server also requests and money; the sample is paid, and its
    answers are kept.

    Args:
        scorer: the model, as `open_model` returns it, or any `LabelScorer`. It counts the tokens. The pace (tokens per
            second) is measured on a small sample.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
        TypeError: an argument has another type.
    """
    scorer = find_scorer(scorer)
    prepared = prepare_run(problem, scorer, config)
    run = prepared.run
    labelled = list_labelled_rows(run.rows)
    words, largest = estimate_by_words(labelled, run.task), share_of_largest(labelled, run.task)
    fewer = words.rows_if_fewer(len(labelled))
    pace = measure_pace(run.rows, run.task, scorer)
    found = replace(
        _estimate(prepared), words_accuracy=words.accuracy, words_rows=fewer, largest_class=largest
    ).at_pace(pace)
    paid, label_spans = find_paid_scorer(scorer), run.task.label_spans
    if paid is None:
        return found
    bills = {
        phase: paid.bill(cost.pairs, cost.prompt_tokens, label_spans, cost.prefixes)
        for phase, cost in found.phases.items()
    }
    return replace(found, bills=bills, sample=prepared.meter.limits.money.paid)


def count_splits(rows: SplitRows) -> Splits:
    """The sizes of the splits, and what was left out of them."""
    return Splits(
        candidates=len(rows.candidates),
        score_set=len(rows.score_set),
        validation=len(rows.validation),
        confirmation=len(rows.confirmation),
        test=len(rows.test),
        unused=rows.unused,
        duplicates_dropped=rows.duplicates_dropped,
        conflicting_texts=rows.conflicting_texts,
        leaked_from_test=rows.leaked_from_test,
        skipped_too_long=rows.skipped_too_long,
        trimmed_too_long=rows.trimmed_too_long,
    )


def _estimate(prepared: PreparedRun) -> CostEstimate:
    """An estimate without seconds, and without a bag of words."""
    return CostEstimate(
        price_run(prepared.runs, prepared.method),
        splits=count_splits(prepared.run.rows),
        fit_rows=prepared.run.prices.fit_rows(prepared.run.config.num_demonstrations),
        budget=prepared.run.config.budget,
    )
