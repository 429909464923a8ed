"""A run of a search, from its checkpoint to its result."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

from lens_engine.classifier.quality import share_of_largest_class
from lens_engine.errors import CheckpointForeign, NothingSelected
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import digest_examples
from lens_engine.run.budget_checks import check_budget
from lens_engine.run.checkpoint import UNREADABLE, Checkpoint, CheckpointStore
from lens_engine.run.comparison import Comparer
from lens_engine.run.comparison_plan import OWED, TESTED
from lens_engine.run.preparation import PreparedRun
from lens_engine.run.result_builder import build_result
from lens_engine.run.single_prompts import SinglePrompts
from lens_engine.run.state import ComparisonState, RunState, read_wordings
from lens_engine.run.wordings import choose_wording
from lens_engine.search.base import Method, Run
from lens_engine.search.catalogue import name_method
from lens_engine.search.random import draw_random
from lens_engine.task.chat import ChatTask
from lens_engine.task.label_end import EndedTask
from lens_engine.task.record import TaskRecord
from lens_engine.types import Permutation, Phase, StopReason
from lens_engine.version import __version__


@dataclass
class SearchRun:
    """One run: its state, and the steps that advance it, each followed by a checkpoint.

    A new run resumes from the checkpoint of the store; without one it starts at the beginning.

    Raises:
        InvalidConfig, CheckpointForeign, CheckpointDamaged: as `select_support_examples`.
    """

    prepared: PreparedRun
    store: CheckpointStore
    state: RunState[Any] = field(init=False)
    _fingerprint: str = field(init=False)
    is_empty_handed: bool = field(init=False, default=False)  #: whether a budget ended the method before any choice

    def __post_init__(self) -> None:
        self._fingerprint = self._make_fingerprint()
        check_budget(self.prepared.runs, self.method, self.meter.limits.money)
        self.state = RunState(self.method.start())
        self.meter.standing.largest_class = share_of_largest_class(self.run.task.index_labels(self.run.rows.validation))
        checkpoint = self.store.load()
        if checkpoint is not None:
            self._check_origin(checkpoint)
            self._restore(checkpoint)

    @property
    def run(self) -> Run:
        return self.prepared.run

    @property
    def meter(self) -> Meter:
        return self.prepared.meter

    @property
    def method(self) -> Method[Any]:
        return self.prepared.method

    def choose(self) -> StopReason:
        """Run the method until it is done, the budget is used up, or a stop is asked for; returns which of the three.

        If the budget ends before the method has a choice, a random permutation stands for it, and no checkpoint has it:
        the same run with a larger budget goes on where this one ended. A resumed run whose comparison has begun does
        not search further, even with a larger budget: a new choice would not be the permutation that was evaluated.

        Raises:
            NothingSelected: the run was cancelled before any examples were chosen.
        """
        if self.state.ended is not None:
            return self.state.ended
        reason = StopReason.COMPLETED
        try:
            self._choose_wording()
            for found in self.method.steps(self.state.method, self.meter):
                self._advance(replace(self.state, method=found))
        except Stopped as stopped:
            reason, self.meter.standing.cut_off = stopped.reason, self.meter.standing.phase
        chosen = self.method.choice(self.state.method)
        if chosen is None:
            chosen = self._fall_back(reason)
        if self.is_empty_handed:  # what was paid counts for a run that goes on from before this step
            limits = self.meter.limits
            state = replace(self.state, seconds=limits.seconds, paid=limits.money.paid)
            self.store.save(self._pack(state, self.meter.standing.step - 1))
        spent = self._spent(self.state)
        comparison = spent.comparison.paying(spent.spent - spent.worded)
        cut_off = self.meter.standing.cut_off
        self.state = replace(spent, chosen=chosen, ended=reason, cut_off=cut_off, comparison=comparison)
        return reason

    def _choose_wording(self) -> None:
        """Choose among the wordings, if there are several and none is chosen yet.

        Raises:
            Stopped: from the meter.
        """
        if len(self.prepared.runs) > 1 and not self.state.wordings:
            self.meter.enter(Phase.WORDING, 1, 1)
            wordings = choose_wording(self.prepared.runs, self.meter)
            self.prepared = self.prepared.in_wording(wordings[0].place)
            state = replace(self.state, method=self.method.start(), wordings=wordings, worded=self.meter.spent)
            self._advance(state)

    def compare(self, reason: StopReason) -> StopReason:
        """Evaluate the choice; `reason` is why the method ended. Returns why the whole run ended."""
        findings = self.method.findings(self.state.method)
        owed = OWED - {TESTED} if self.is_empty_handed else OWED
        comparer = Comparer(self.run, self.meter, self.method, findings, self._chosen, owed)
        try:
            comparer.compare(self.state.comparison, self._save_comparison)
        except Stopped as stopped:
            return stopped.reason
        return StopReason.BUDGET if self.state.comparison.skipped else reason

    def result(self, reason: StopReason) -> SelectionResult:
        """The result of a run that ended for this reason."""
        return self._build_result(self._chosen, reason)

    def result_if_cancelled(self) -> SelectionResult | None:
        """The result if the run were cancelled now; None before any examples were chosen. Nothing is scored."""
        chosen = self.state.chosen
        try:
            if chosen is None:
                chosen = self.method.choice(self.state.method)
            if chosen is None:
                chosen = self._fall_back(StopReason.CANCELLED)
        except NothingSelected:
            return None
        return self._build_result(chosen, StopReason.CANCELLED)

    def _build_result(self, chosen: Permutation, reason: StopReason) -> SelectionResult:
        is_empty_handed, findings = self.is_empty_handed, self.method.findings(self.state.method)
        method = "random" if is_empty_handed else name_method(self.run.config)
        prompts = SinglePrompts(self.run, findings, self.state.comparison, chosen, method)
        return build_result(self.prepared, self.state, prompts, reason, is_empty_handed=is_empty_handed)

    @property
    def _chosen(self) -> Permutation:
        if self.state.chosen is None:
            raise RuntimeError("call choose() first")
        return self.state.chosen

    def _fall_back(self, reason: StopReason) -> Permutation:
        try:
            return self.method.fallback(self.state.method, reason)
        except NothingSelected:
            if reason is not StopReason.BUDGET:
                raise
            self.is_empty_handed = True
            return draw_random(self.run, 0, 1)[0]

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
            if wordings := read_wordings(checkpoint):
                self.prepared = self.prepared.in_wording(wordings[0].place)
            self.state = RunState.from_checkpoint(self.method, checkpoint)
            self.meter.resume(self.state.spent, self.state.seconds, self.state.pairs_from_cache, self.state.refused)
            self.meter.limits.money.resume(self.state.paid)
            self.meter.standing.cut_off = self.state.cut_off
            self._show_best()
        except UNREADABLE as error:
            raise CheckpointForeign("the checkpoint has a form that Lens cannot read; start the run afresh") from error

    def _save_comparison(self, comparison: ComparisonState, step: int) -> None:
        self._advance(replace(self.state, comparison=comparison), step)

    def _advance(self, state: RunState[Any], step: int | None = None) -> None:
        self.state = self._spent(state)
        self._show_best()
        if not self.is_empty_handed:
            self.store.save(self._pack(self.state, self.meter.standing.step if step is None else step))

    def _spent(self, state: RunState[Any]) -> RunState[Any]:
        meter = self.meter
        return replace(
            state,
            spent=meter.spent,
            seconds=meter.limits.seconds,
            pairs_from_cache=meter.pairs_from_cache,
            refused=meter.refused,
            paid=meter.limits.money.paid,
        )

    def _pack(self, state: RunState[Any], step: int) -> Checkpoint:
        identity = self.meter.scorer.identity
        packed = state.to_checkpoint(self.method, self._fingerprint, identity.dtype, self.meter.standing.phase, step)
        return replace(packed, device=identity.device, result_if_cancelled=self.result_if_cancelled)

    def _show_best(self) -> None:
        found, random = self.method.findings(self.state.method), self.state.comparison.tally.accuracies
        self.meter.standing.survivors = found.survivors
        if found.best_accuracy is not None:
            self.meter.standing.best_validation_accuracy = found.best_accuracy
        if random:
            self.meter.standing.best_random_accuracy = max(random)

    def _make_fingerprint(self) -> str:
        """SHA-256 of everything that a checkpoint and a run must share. The budget may change between attempts."""
        problem, identity = self.prepared.problem, self.meter.scorer.identity
        is_fitted = isinstance(self.run.task, ChatTask | EndedTask)
        content = {
            "lens": __version__,
            "examples": digest_examples(problem.examples),
            "test": None if problem.test is None else digest_examples(problem.test),
            "template": problem.task.template.pattern,
            "alternatives": [TaskRecord.of(one).model_dump(mode="json") for one in problem.alternatives],
            "words": list(problem.task.verbalizer.words.items()),
            "separator": problem.task.separator,
            "instruction": problem.task.instruction,
            "config": self.run.config.model_dump(mode="json", exclude={"budget"}),
            "model": [identity.model, identity.revision],
            **({"asked": TaskRecord.of(self.run.task).model_dump(mode="json")} if is_fitted else {}),
            "place": [identity.dtype, identity.device, identity.executor, identity.beyond_window],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
