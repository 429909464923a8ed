"""Preparation of a run: its rows, and its price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig, InvalidInput
from lens_engine.metering.estimate import CostEstimate, measure_lengths, measure_pace
from lens_engine.metering.limits import Money
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost, Prices, TokenLengths
from lens_engine.metering.progress import SelectionListener, SilentListener
from lens_engine.method.lens import MOST_FINALISTS, Lens
from lens_engine.method.setup import Findings, Setup
from lens_engine.model.base import LabelScorer, OpenModel, find_scorer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.prompt.embedder import has_embedder
from lens_engine.prompt.language import warn_of_language
from lens_engine.prompt.template import Task
from lens_engine.prompt.wording import show_label
from lens_engine.result import RowCounts
from lens_engine.rows.context import find_bound, fit_to_context
from lens_engine.rows.dealing import DealtRows, count_fit_rows, deal_rows, pick_lens_rows
from lens_engine.rows.problem import Problem, check_problem, digest_examples
from lens_engine.run.judge import plan_rungs_of_judging, price_judging
from lens_engine.run.propose import NEAREST, NEAREST_AFTER_FIXED, propose
from lens_engine.types import Phase


def check_budget(setup: Setup, reserve: Cost, money: Money | None = None) -> None:
    """Refuse a budget that pays for no first result beside the reserve; `money` is None without a scorer."""
    budget, (rung, *_) = setup.config.budget, plan_rungs_of_judging(len(setup.rows.judging), 2)
    first = setup.prices.judging(1, rung.end)
    pairs = (first + reserve).pairs
    if budget.max_pairs is not None and budget.max_pairs < pairs:
        raise _refuse_limit("max_pairs", f"{budget.max_pairs}", f"takes {pairs}")
    least = None if money is None else money.least(first, reserve)
    if least is not None:
        raise _refuse_limit("max_cost", f"{budget.max_cost:g} USD", f"may cost {least:.2g}")


def _refuse_limit(name: str, limit: str, needed: str) -> InvalidConfig:
    return InvalidConfig(
        f"{name} is {limit}, and one prompt on the first judging rows with the test rows (if any) {needed}; raise it, "
        "or lower rows.test",
        field=f"options.budget.{name}",
    )


def refuse_unpriced(config: SelectionConfig, *, is_served: bool, has_prices: bool) -> None:
    if config.budget.max_cost is None or has_prices:
        return
    why = (
        "the endpoint has no prices; give those of a million tokens (TokenPrices)"
        if is_served
        else "the model is on this machine, where nothing is paid; leave it out, or set max_seconds"
    )
    raise InvalidConfig(f"max_cost limits the cost of requests to a server: {why}", field="options.budget.max_cost")


def name_wording(tasks: Sequence[Task], place: int, error: InvalidInput) -> InvalidInput:
    """The error of a wording in which the model cannot be asked, named with its template and instruction.

    A run does not leave the wording out: it would compare fewer than it was asked to.
    """
    template, instruction = tasks[place].template.pattern, tasks[place].instruction
    told = f"the instruction {show_label(instruction)}" if instruction else "no instruction"
    message = f"wording {place + 1} of {len(tasks)}, with the template {show_label(template)} and {told}: {error}"
    fields = {
        "template": _find_field("template", template, [one.template.pattern for one in tasks]),
        "instruction": _find_field("instruction", instruction, [one.instruction for one in tasks]),
    }
    field = fields.get(error.field, error.field)
    own, *others = error.faults
    problems = (replace(own, field=field, detail=message), *others)
    return type(error)(message, field=field, row=error.row, problems=problems)


def _find_field(name: str, text: str, texts: Sequence[str]) -> str:
    """The field of one of several texts, which has its number from 0, as in the request."""
    distinct = list(dict.fromkeys(texts))
    return name if len(distinct) == 1 else f"{name}.{distinct.index(text)}"


@dataclass(frozen=True)
class PreparedRun:
    """A problem, the setup of its run, and a meter with the planned cost."""

    problem: Problem
    setup: Setup
    meter: Meter
    price_of_judging: Cost

    @cached_property
    def dataset_sha256(self) -> str:
        return digest_examples(self.problem.examples)

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
    """Deal the rows, fit them to the model's context, and price the run.

    Raises:
        InvalidDataset, InvalidVerbalizer, ClassTooSmall, InvalidConfig, PromptTooLong: as `select_support_examples`.
        EndpointError: the model is behind a server, which refuses.
        TypeError: `problem` or `config` has another type.
    """
    check_problem(problem)
    if not isinstance(config, SelectionConfig):
        raise TypeError(f"the config is of type {type(config).__name__}; write resolve_config(preset, options)")
    spending = scorer.spending
    has_prices = spending is not None and spending.prices is not None
    refuse_unpriced(config, is_served=spending is not None, has_prices=has_prices)
    setup = _make_setup(problem, scorer, config)
    prices = price_run(setup)
    meter = Meter(
        scorer=scorer,
        label_spans=setup.task.label_spans,
        listener=listener or SilentListener(),
        budget=config.budget,
        planned=sum(prices.values(), Cost()),
        reserve=price_test(setup),
        **ends._asdict(),
    )
    return PreparedRun(problem, setup, meter, prices[Phase.JUDGE] + prices.get(Phase.FIT, Cost()))


def deal_within_budget(problem: Problem, config: SelectionConfig) -> DealtRows:
    """The rows, without a model: what can be refused before one is loaded.

    Raises:
        InvalidDataset, ClassTooSmall, InvalidConfig: as `select_support_examples`.
    """
    rows = deal_rows(problem, config)
    setup = _set_up((rows.task,) * (1 + len(problem.alternatives)), rows, config, TokenLengths(0.0, 0.0))
    check_budget(setup, price_test(setup))
    return rows


def _make_setup(problem: Problem, scorer: LabelScorer, config: SelectionConfig) -> Setup:
    """The setup with each wording as the model is asked, and the texts fitted to the context in all of them."""
    has_probabilities = not scorer.gives_answers_only
    if config.use == "probabilities" and not has_probabilities:
        raise InvalidConfig(
            "the model gives answers and no probabilities, so there are no label biases; take the use prompt",
            field="options.use",
        )
    rows = deal_rows(problem, config)
    known = rows.task.verbalizer  # without the labels that are too rare
    others = (Task(one.template, known, one.separator, instruction=one.instruction) for one in problem.alternatives)
    asked, tasks = [], (rows.task, *others)
    for place, task in enumerate(tasks):
        try:
            asked.append(scorer.fit_task(task))
            rows = fit_to_context(replace(rows, task=asked[-1]), scorer)
        except InvalidInput as error:
            if len(tasks) == 1:
                raise
            raise name_wording(tasks, place, error) from error
    rows = replace(rows, task=asked[0])
    lengths, states = measure_lengths(rows, rows.task, scorer), scorer.num_layers > 0
    bounds = tuple(find_bound(rows, task, scorer) for task in asked)
    return replace(_set_up(tuple(asked), rows, config, lengths, states, has_probabilities), bounds=bounds)


def _set_up(
    tasks: tuple[Task, ...],
    rows: DealtRows,
    config: SelectionConfig,
    lengths: TokenLengths,
    shows_states: bool = False,
    has_probabilities: bool = True,
) -> Setup:
    candidates, score_set, validation = map(len, pick_lens_rows(rows.search, config))
    n = rows.quotas.num_demonstrations
    prices = Prices(config, lengths, candidates, score_set, validation, n, has_probabilities)
    _check_keep(rows, config)
    return Setup(tasks, config, rows, prices, shows_states, has_probabilities)


def _check_keep(rows: DealtRows, config: SelectionConfig) -> None:
    """Refuse a number of candidates, before or after filtering, that cannot fill a permutation."""
    options, quotas, num_labels = config.filtering, rows.quotas, len(rows.task.labels)
    n = min(config.num_demonstrations, len(rows.search) // 2)
    kept = n if quotas.by_label is None else max(quotas.by_label.values()) * num_labels
    for name, number, least in (("candidates", options.candidates, n), ("keep", options.keep, kept)):
        if rows.search and number is not None and number < least:
            raise InvalidConfig(
                f"filtering.{name} is {number}, and {n} demonstrations of {num_labels} labels need at least {least} "
                "examples to choose from; raise it",
                field=f"options.filtering.{name}",
            )


def price_run(setup: Setup) -> dict[Phase, Cost]:
    """What each phase costs at most; see `CostEstimate`."""
    any_set = tuple(range(len(setup.lens_rows.candidates)))[: setup.rows.quotas.num_demonstrations]
    proposals = propose(setup, Findings(finalists=(any_set,) * MOST_FINALISTS if any_set else ()), None)
    fitting = sum(list_classifier_steps(setup).values(), Cost())
    search = Lens(setup).price() if setup.rows.search else {}
    test = {Phase.TEST: price_test(setup)} if setup.rows.test else {}
    fit = {Phase.FIT: fitting} if fitting.pairs else {}
    return {**search, Phase.JUDGE: price_judging(setup, proposals), **fit, **test}


def list_classifier_steps(setup: Setup) -> dict[str, Cost]:
    """The candidates for the classifier that the options and the model allow, and what each costs."""
    prices, options = setup.prices, setup.config.classifier
    kind, num_rows = options.kind, count_fit_rows(setup.rows, options.fit_rows)
    steps = {}
    if kind in ("auto", "bag_of_words"):
        steps["bag_of_words"] = Cost()
    if kind in ("auto", "embeddings") and has_embedder(options.embeddings):
        steps["embeddings"] = Cost()
    if kind in ("auto", "states") and setup.shows_states:
        steps["states_zero_shot"] = prices.judging(1, num_rows, 0)
        steps["states_one_prompt"] = prices.judging(1, num_rows)
    if setup.reads_label_probabilities:
        steps["label_probabilities"] = prices.judging(1, num_rows)
    return steps


def price_test(setup: Setup) -> Cost:
    """The test rows after each prompt that may be chosen, large sets aside: for each use one that finds rows, and a
    fixed one; then no examples, and the classifier."""
    rows, prices = len(setup.rows.test), setup.prices
    if not rows:
        return Cost()
    forms = setup.config.search.forms
    most = max(NEAREST) if "nearest" in forms else 0
    if "fixed+nearest" in forms:
        most = max(most, setup.rows.quotas.num_demonstrations + NEAREST_AFTER_FIXED)
    found = prices.judging_pairs(rows * len(setup.uses), most) if most else Cost()
    return found + prices.judging(len(setup.uses) + 1, rows) + prices.judging(1, rows, 0)


def estimate_cost(problem: Problem, scorer: LabelScorer | OpenModel, config: SelectionConfig) -> CostEstimate:
    """Pairs, tokens and seconds of the whole run, by phase.

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
    setup = prepared.setup
    found = CostEstimate(price_run(setup)).at_pace(measure_pace(setup.rows, setup.task, scorer))
    if scorer.spending is None:
        return found
    bills = {
        phase: scorer.bill(cost.pairs, cost.prompt_tokens, setup.task.label_spans, cost.prefixes)
        for phase, cost in found.phases.items()
    }
    return replace(found, bills=bills, sample=prepared.meter.limits.money.paid)


def count_rows(setup: Setup) -> RowCounts:
    """The number of rows of each kind, and what was left out."""
    rows = setup.rows
    return RowCounts(
        labelled=len(rows.labelled),
        search=len(rows.search),
        judging=len(rows.judging),
        test=len(rows.test),
        duplicates_dropped=rows.duplicates_dropped,
        conflicting_texts=rows.conflicting_texts,
        leaked_from_test=rows.leaked_from_test,
        skipped_too_long=rows.skipped_too_long,
        trimmed_too_long=rows.trimmed_too_long,
    )
