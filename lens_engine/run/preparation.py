"""Preparation of a run: its rows, its method, its price."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.metering.money import Money
from lens_engine.metering.progress import SelectionListener, SilentListener
from lens_engine.methods.base import Method, Run
from lens_engine.methods.catalogue import METHODS, Methods, make_method, name_method
from lens_engine.pricing.estimate import (
    CostEstimate,
    estimate_by_words,
    measure_lengths,
    measure_pace,
    share_of_largest,
)
from lens_engine.pricing.prices import Prices, TokenLengths
from lens_engine.reading.language import warn_of_language
from lens_engine.result import Splits
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.rows.problem import Problem, check_problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.run.evaluation_plan import price_evaluation, reserve_for_test
from lens_engine.scoring.asking import fit_task, gives_answers_only
from lens_engine.scoring.base import LabelScorer, OpenModel, find_scorer
from lens_engine.scoring.paid import find_paid_scorer
from lens_engine.scoring.states import find_states_scorer
from lens_engine.types import Phase


@dataclass(frozen=True)
class PreparedRun:
    """A problem, its run, the method, and a meter with the planned cost."""

    problem: Problem
    run: Run
    method: Method[Any]
    meter: Meter
    method_name: str

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
    methods: Methods = METHODS,
) -> PreparedRun:
    """Cut the splits, fit them to the model's context, and price the run.

    Args:
        ends, methods: as in `select_support_examples`.

    Raises:
        InvalidDataset, InvalidVerbalizer, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
        EndpointError: the model is behind a server, which refuses.
        TypeError: `problem` or `config` has another type.
    """
    check_problem(problem)
    if not isinstance(config, SelectionConfig):
        raise TypeError(f"the config is of type {type(config).__name__}; write resolve_config(preset, options)")
    check_prices(config, scorer)
    rows, prices = _fit_and_price(problem, scorer, config)
    task = rows.task
    run = Run(
        task,
        config,
        rows,
        prices,
        scorer.identity.dtype,
        shows_states=find_states_scorer(scorer) is not None,
        has_probabilities=prices.has_probabilities,
    )
    method = make_method(run, methods)
    meter = Meter(
        scorer=scorer,
        label_spans=task.label_spans,
        listener=listener or SilentListener(),
        budget=config.budget,
        planned=sum(price_run(run, method).values(), Cost()),
        reserve=reserve_for_test(run, method),
        **ends._asdict(),
    )
    return PreparedRun(problem, run, method, meter, name_method(config))


def split_within_budget(problem: Problem, config: SelectionConfig) -> SplitRows:
    """The splits, without a model: what can be refused before one is loaded.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig: as `select_support_examples`.
    """
    rows = split_examples(problem, config)
    if config.too_long == "skip_example":  # a run may leave rows out, and cost less
        return rows
    run = Run(rows.task, config, rows, Prices(rows, config, TokenLengths(0.0, 0.0)))
    check_budget(run, make_method(run))
    return rows


def check_budget(run: Run, method: Method[Any], money: Money | None = None) -> None:
    """
    Args:
        money: of the run; None before its scorer is known.

    Raises:
        InvalidConfig: the budget does not cover the first step and the test rows.
    """
    budget, first, reserve = run.config.budget, method.first_step(), reserve_for_test(run, method)
    pairs = (first.cost + reserve).pairs
    if budget.max_pairs is not None and budget.max_pairs < pairs:
        raise _refuse_limit("max_pairs", f"{budget.max_pairs}", first.name, f"takes {pairs}")
    least = None if money is None else money.least(first.cost, reserve)
    if least is not None:
        raise _refuse_limit("max_cost", f"{budget.max_cost:g} USD", first.name, f"may cost {least:.2g}")


def _refuse_limit(name: str, limit: str, step: str, needed: str) -> InvalidConfig:
    return InvalidConfig(
        f"{name} is {limit}, and {step} with the test rows {needed}; "
        "raise it, or lower filtering.candidates or splits.test",
        field=f"options.budget.{name}",
    )


def check_prices(config: SelectionConfig, scorer: LabelScorer) -> None:
    """
    Raises:
        InvalidConfig: the cost is limited, and nobody knows what a request costs.
    """
    paid = find_paid_scorer(scorer)
    refuse_unpriced(
        config, is_served=paid is not None, has_prices=paid is not None and paid.spending.prices is not None
    )


def refuse_unpriced(config: SelectionConfig, *, is_served: bool, has_prices: bool) -> None:
    """As `check_prices`, for a model that is not opened yet."""
    if config.budget.max_cost is None or has_prices:
        return
    why = (
        "the endpoint has no prices; give those of a million tokens (TokenPrices)"
        if is_served
        else "the model is on this machine, where nothing is paid; leave it out, or set max_seconds"
    )
    raise InvalidConfig(f"max_cost limits the cost of requests to a server: {why}", field="options.budget.max_cost")


def _fit_and_price(problem: Problem, scorer: LabelScorer, config: SelectionConfig) -> tuple[SplitRows, Prices]:
    """The splits with the task as the model is asked, fitted to the context, and their prices.

    Both need every text's number of tokens.
    """
    has_probabilities = not gives_answers_only(scorer)
    if config.use == "probabilities" and not has_probabilities:
        raise InvalidConfig(
            "the model gives answers and no probabilities, so there are no label biases; take the use prompt",
            field="options.use",
        )
    rows = split_examples(problem, config)
    rows = fit_to_context(replace(rows, task=fit_task(scorer, rows.task)), scorer, config)
    return rows, Prices(rows, config, measure_lengths(rows, rows.task, scorer), has_probabilities)


def price_run(run: Run, method: Method[Any]) -> dict[Phase, Cost]:
    """The cost of each phase when every permutation is judged on every row."""
    return {**method.price(), Phase.EVALUATE: price_evaluation(run, method)}


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
    pace = measure_pace(run.rows, run.task, scorer)
    found = replace(_estimate(prepared), words_accuracy=words, largest_class=largest).at_pace(pace)
    paid, label_spans = find_paid_scorer(scorer), run.task.label_spans
    if paid is None:
        return found
    bills = {
        phase: paid.bill(cost.pairs, cost.prompt_tokens, label_spans, cost.prefixes)
        for phase, cost in found.phases.items()
    }
    return replace(found, bills=bills, sample=prepared.meter.money.paid)


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
    demonstrations = max(prepared.run.most_prompts, 1) * prepared.run.config.num_demonstrations
    return CostEstimate(
        price_run(prepared.run, prepared.method),
        splits=count_splits(prepared.run.rows),
        fit_rows=prepared.run.prices.fit_rows(demonstrations),
        budget=prepared.run.config.budget,
    )
