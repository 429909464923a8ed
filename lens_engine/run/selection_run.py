"""A run, from its checkpoint to its result: propose, judge, choose, report.

preparation  what the run is made with, and its price
propose      the prompts that are compared
judge        the judging rows after each of them
table        the answers of all contenders
choose       the best of them, and what to expect of it
report       the result
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from lens_engine.classifier.candidates import WITHOUT_MODEL, Candidate
from lens_engine.classifier.quality import share_of_largest_class
from lens_engine.errors import CheckpointForeign, NothingSelected
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.method.lens import Lens
from lens_engine.method.setup import Findings, Setup
from lens_engine.prompt.chat import ChatTask
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import EndedTask
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import digest_examples
from lens_engine.run.choices import Choices, Found
from lens_engine.run.choose import BAGS, FEW_BAGS
from lens_engine.run.classifying import Classifying
from lens_engine.run.judge import Judge, Judging, ask_prompts, price_judging
from lens_engine.run.preparation import PreparedRun, check_budget, list_classifier_steps, price_test
from lens_engine.run.propose import Proposal, price_prompt, propose
from lens_engine.run.report import build_result
from lens_engine.run.state import UNREADABLE, Checkpoint, CheckpointStore, RunState, TestedFigures
from lens_engine.run.table import Table
from lens_engine.types import Example, Phase, StopReason
from lens_engine.version import __version__

SEARCHED, JUDGED, TESTED = "search", "judging", "test"
"""Names of steps; those of classifiers are in `list_classifier_steps`."""


@dataclass
class SelectionRun:
    """One run: its state, and the steps that advance it, each followed by a checkpoint.

    A new run resumes from the checkpoint of the store; without one it starts at the beginning.

    Raises:
        InvalidConfig, CheckpointForeign, CheckpointDamaged: as `select_support_examples`.
    """

    prepared: PreparedRun
    store: CheckpointStore
    state: RunState = field(init=False)
    _fingerprint: str = field(init=False)
    _found: Found | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._fingerprint = self._make_fingerprint()
        check_budget(self.setup, price_test(self.setup), self.meter.limits.money)
        self.state = RunState(Lens(self.setup).start() if self.setup.rows.search else None)
        gold = self.setup.task.index_labels(self.setup.rows.judging)
        self.meter.standing.largest_class = share_of_largest_class(gold)
        checkpoint = self.store.load()
        if checkpoint is not None:
            self._check_origin(checkpoint)
            self._restore(checkpoint)

    @property
    def setup(self) -> Setup:
        return self.prepared.setup

    @property
    def meter(self) -> Meter:
        return self.prepared.meter

    def finish(self) -> StopReason:
        """Do every step that is left; returns why the run ended.

        Raises:
            NothingSelected: the run was cancelled before there was anything to choose.
        """
        fitted = {name: self._fit(name) for name in list_classifier_steps(self.setup)}
        steps = {name: step for name, step in fitted.items() if name in WITHOUT_MODEL}
        steps |= {SEARCHED: self._search, JUDGED: self._judge}
        steps |= {name: step for name, step in fitted.items() if name not in steps} | {TESTED: self._test}
        try:
            for name, step in steps.items():
                if name not in self.state.done:
                    self._take(name, step)
        except Stopped as stopped:
            if not self._has_something:
                raise NothingSelected(stopped.reason) from stopped
            return stopped.reason
        self._show_best(BAGS)
        return StopReason.BUDGET if self.state.is_short else StopReason.COMPLETED

    def result(self, reason: StopReason) -> SelectionResult:
        """The result of a run that ended for this reason."""
        return build_result(self.prepared, self._find(BAGS), reason)

    def result_if_cancelled(self) -> SelectionResult | None:
        """The result if the run were cancelled now; None before there is anything to choose. Nothing is scored."""
        if not self._has_something:
            return None
        return build_result(self.prepared, self._find(FEW_BAGS), StopReason.CANCELLED)

    def _take(self, name: str, step: Callable[[], None]) -> None:
        """Do a step, and note what the budget cut off.

        What asks no model and the test rows ignore the budget, but for money that is spent.
        """
        is_owed = name in (TESTED, *WITHOUT_MODEL) or (name == SEARCHED and self.state.lens is None)
        cost = list_classifier_steps(self.setup).get(name, Cost())
        reserve = price_test(self.setup) if name != TESTED else Cost()
        judging = self.prepared.price_of_judging  # the most that it costs; half is usual
        self.meter.limits.reserve = reserve + (judging.within(judging.pairs // 2) if name == SEARCHED else Cost())
        state = self.state
        if not is_owed and not self.meter.affords(cost):
            phases = {SEARCHED: Phase.FILTER, JUDGED: Phase.JUDGE}
            cut = state.cut_off or phases.get(name, Phase.FIT)
            self.meter.standing.cut_off = cut
            done, skipped = (*state.done, name), (*state.skipped, name)
            self._advance(replace(state, done=done, skipped=skipped, cut_off=cut))
            return
        try:
            with self.meter.limits.beyond_budget() if is_owed else nullcontext():
                step()
        except Stopped as stopped:
            if stopped.reason is not StopReason.BUDGET:
                raise
            cut = self.state.cut_off or self.meter.standing.phase
            self.meter.standing.cut_off = cut
            self.state = replace(self.state, skipped=(*self.state.skipped, name), cut_off=cut)
        self._advance(replace(self.state, done=(*self.state.done, name)))

    def _search(self) -> None:
        if self.state.lens is not None:
            for found in Lens(self.setup).steps(self.state.lens, self.meter):
                self._advance(replace(self.state, lens=found))

    def _judge(self) -> None:
        judge = Judge(self.setup, self.meter, self.proposals)

        def save(judging: Judging) -> None:
            self._advance(replace(self.state, judging=judging))

        save(judge.finish(self.state.judging or judge.start(), save))

    def _fit(self, name: str) -> Callable[[], None]:
        def fit() -> None:
            classifying = self._classifying
            shown: tuple[Example, ...] = ()
            self.meter.use_label_spans(self.setup.task.label_spans)
            if name not in WITHOUT_MODEL:  # which come first
                self.meter.enter(Phase.FIT, 1, 1)
                shown = self._find(FEW_BAGS).choices.demonstrations or classifying.random_set
            steps: dict[str, Callable[[], list[Candidate]]] = {
                "bag_of_words": classifying.bag_of_words,
                "embeddings": classifying.embeddings,
                "states_zero_shot": partial(classifying.states, ()),
                "states_one_prompt": partial(classifying.states, shown),
                "label_probabilities": partial(classifying.label_probabilities, shown),
            }
            self.state = replace(self.state, candidates=(*self.state.candidates, *steps[name]()))

        return fit

    def _test(self) -> None:
        """Ask what was chosen for the test rows, and beside it no examples and what needs no model."""
        rows = self.setup.rows.test
        if not rows:
            return
        found = self._find(FEW_BAGS)
        prompts = [one for one in found.list_tested_prompts() if one not in self.state.tested]
        classifiers = [one for one in found.list_tested_classifiers() if one not in self.state.tested_classifiers]
        read = [one for place in classifiers for one in self.state.candidates[place].classifier.prompts]
        costs = [price_prompt(self.setup, self.proposals[place], len(rows)) for place in prompts]
        costs += [self.setup.prices.judging(1, len(rows), len(one.rows)) for one in read]
        self.meter.planned = sum(costs, self.meter.spent)
        self.meter.enter(Phase.TEST, 1, 1)
        for place in prompts:
            (scores,) = ask_prompts(self.setup, self.meter, [self.proposals[place]], rows)
            self._advance(replace(self.state, tested={**self.state.tested, place: scores}))
        self.meter.use_label_spans(self.setup.task.label_spans)
        for place in classifiers:
            figures = TestedFigures.of(self._classifying.test(self.state.candidates[place]))
            self._advance(replace(self.state, tested_classifiers={**self.state.tested_classifiers, place: figures}))

    @cached_property
    def _classifying(self) -> Classifying:
        return Classifying(self.setup, self.meter)

    @cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """Those after the search; not read before its end."""
        return propose(self.setup, self._findings, self.meter)

    @property
    def _findings(self) -> Findings:
        return Findings() if self.state.lens is None else Lens(self.setup).findings(self.state.lens)

    @property
    def _has_something(self) -> bool:
        """Whether something speaks for a choice: judged prompts, or what LENS found."""
        is_judged = self.state.judging is not None and bool(self.state.judging.cells)
        return is_judged or bool(self._findings.finalists)

    def _find(self, bags: int) -> Found:
        """What is found by now, with the estimates that were made of it: each takes some hundred choices."""
        kept = self._found
        if kept is not None and kept.state is self.state and kept.choices.bags == bags:
            return kept
        is_searched = SEARCHED in self.state.done
        proposals = self.proposals if is_searched else propose(self.setup, self._findings, None)
        judging = self.state.judging or Judging({}, ())
        table = Table.of(self.setup, proposals, judging.cells, self.state.candidates, judging.left)
        self._found = Found(self.state, self._findings, Choices(table, proposals, bags))
        return self._found

    def _check_origin(self, checkpoint: Checkpoint) -> None:
        if checkpoint.fingerprint != self._fingerprint:
            identity = self.meter.scorer.identity
            raise CheckpointForeign(
                "the checkpoint belongs to other data, options, model or engine version, or to another device: it was "
                f"computed on {checkpoint.device} in {checkpoint.dtype}, and this run computes on {identity.device} "
                f"in {identity.dtype}"
            )

    def _restore(self, checkpoint: Checkpoint) -> None:
        try:
            state, budget = RunState.from_checkpoint(checkpoint), checkpoint.values["budget"]
        except UNREADABLE as error:
            raise CheckpointForeign("the checkpoint has a form that Lens cannot read; start the run afresh") from error
        self.meter.limits.money.resume(state.paid)
        if state.is_short and budget != self._budget:
            return  # another budget may have other steps; scores are in the pair cache
        self.state = state
        self.meter.resume(state.spent, state.seconds, state.pairs_from_cache, state.refused)
        self.meter.standing.cut_off = self.state.cut_off
        self._reprice()

    def _advance(self, state: RunState) -> None:
        meter = self.meter
        rungs = None if self.state.judging is None else self.state.judging.rungs_done
        is_step_over = state.done != self.state.done
        self.state = replace(
            state,
            spent=meter.spent,
            seconds=meter.limits.seconds,
            pairs_from_cache=meter.pairs_from_cache,
            refused=meter.refused,
            paid=meter.limits.money.paid,
        )
        if state.judging is not None and state.judging.rungs_done != rungs:
            self._show_best(FEW_BAGS)
            is_step_over = True
        if is_step_over:
            self._reprice()
        if state.lens is not None:
            filtering = state.lens.filtering
            meter.standing.survivors = len(filtering.survivors) if filtering.rounds_done else None
        self.store.save(self._pack())

    def _reprice(self) -> None:
        """Take what was saved off the plan, once the search is over."""
        done, setup = self.state.done, self.setup
        if SEARCHED not in done:
            return
        left = [cost for name, cost in list_classifier_steps(setup).items() if name not in done]
        left += [] if JUDGED in done else [price_judging(setup, self.proposals, self.state.judging)]
        left += [] if TESTED in done else [price_test(setup)]
        self.meter.planned = sum(left, self.meter.spent)

    def _pack(self) -> Checkpoint:
        identity, standing = self.meter.scorer.identity, self.meter.standing
        packed = self.state.to_checkpoint(self._fingerprint, identity.dtype, standing.phase, standing.step)
        values = {**packed.values, "budget": self._budget}
        return replace(packed, values=values, device=identity.device, result_if_cancelled=self.result_if_cancelled)

    @property
    def _budget(self) -> dict[str, Any]:
        return self.setup.config.budget.model_dump(mode="json")

    def _show_best(self, bags: int) -> None:
        choices = self._find(bags).choices
        is_early = 0 < 2 * choices.table.num_whole < len(self.setup.rows.judging)  # a figure that would jump
        if choices.first is not None and not is_early:
            self.meter.standing.expected_accuracy = choices.estimate(choices.first, None).accuracy

    def _make_fingerprint(self) -> str:
        """SHA-256 of everything that a checkpoint and a run must share. The budget may change between attempts."""
        problem, identity, setup = self.prepared.problem, self.meter.scorer.identity, self.setup
        is_fitted = isinstance(setup.task, ChatTask | EndedTask)
        content: dict[str, Any] = {
            "lens": __version__,
            "examples": self.prepared.dataset_sha256,
            "test": None if problem.test is None else digest_examples(problem.test),
            "template": problem.task.template.pattern,
            "alternatives": [TaskRecord.of(one).model_dump(mode="json") for one in problem.alternatives],
            "words": list(problem.task.verbalizer.words.items()),
            "separator": problem.task.separator,
            "instruction": problem.task.instruction,
            "config": setup.config.model_dump(mode="json", exclude={"budget"}),
            "model": [identity.model, identity.revision],
            **({"asked": TaskRecord.of(setup.task).model_dump(mode="json")} if is_fitted else {}),
            "place": [identity.dtype, identity.device, identity.executor, identity.beyond_window],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
