"""The laboratory: takes cells from the store, and computes those that are missing."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.experiments.data.tasks import FindDataset
from lab.experiments.laboratory.calibration import calibrate
from lab.experiments.laboratory.cells import Bench, CalibratedAccuracy, Cell, EvaluationCell, SelectionCell
from lab.experiments.laboratory.models import LoadedModels
from lab.experiments.laboratory.progress import Progress
from lab.experiments.laboratory.store import CellDamaged, CellStore
from lab.rivals.evidence_files import RememberingFineTuner
from lab.rivals.method import coreset_methods
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.errors import CheckpointError
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.metering.progress import SilentListener
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.run.checkpoint import FileCheckpointStore
from lens_engine.scoring.asking import fit_task
from lens_engine.scoring.base import LabelScorer
from lens_engine.search.catalogue import METHODS, Methods
from lens_engine.search.judgement import EvaluationRows, Judgement
from lens_engine.task.template import CONTENT_FREE_TEXT

OutcomeT = TypeVar("OutcomeT", SelectionResult, CalibratedAccuracy)


@dataclass
class Laboratory:
    """Computes cells and stores them. A stored cell is never computed again.

    A selection that was interrupted resumes from its last checkpoint.
    """

    store: CellStore
    find_dataset: FindDataset
    models: LoadedModels
    progress: Progress = field(default_factory=Progress)
    _newest_rows: tuple[tuple[Bench, SelectionConfig], SplitRows] | None = field(default=None, init=False)

    def select(self, cell: SelectionCell, title: str = "") -> SelectionResult:
        """The outcome of a selection. `title` is its name in the progress; the default is the method.

        Raises:
            LensError: as `select_support_examples` and as loading the model; or `CellDamaged`.
        """
        return self._fetch(cell, title or cell.config.method, SelectionResult, partial(self._select, cell))

    def evaluate(self, cell: EvaluationCell, title: str = "") -> CalibratedAccuracy:
        """The accuracy of one prompt on the test rows, plain and calibrated.

        Raises:
            LensError: as `select`; `PromptTooLong` where the demonstrations do not fit this model's context.
        """
        return self._fetch(cell, title or cell.kind, CalibratedAccuracy, lambda _: self._evaluate(cell))

    def key(self, cell: Cell) -> str:
        """The key of the cell in the store."""
        return cell.key(self.find_dataset(cell.bench.dataset).sha256)

    def problem(self, cell: Cell) -> Problem:
        """The task and the labelled examples of a cell."""
        problem = self.find_dataset(cell.bench.dataset).problem(cell.bench.template)
        return problem if cell.bench.test_rows == "file" else replace(problem, test=None)

    def rows(self, cell: Cell) -> SplitRows:
        """The splits of a cell, fitted to the context of its model. Loads the model."""
        wanted = (cell.bench, cell.config)
        if self._newest_rows is None or self._newest_rows[0] != wanted:  # consecutive cells often share them
            problem, scorer = self.problem(cell), self.scorer(cell)
            rows = split_examples(problem, cell.config)
            rows = replace(rows, task=fit_task(scorer, rows.task))
            self._newest_rows = (wanted, fit_to_context(rows, scorer, cell.config))
        return self._newest_rows[1]

    def scorer(self, cell: Cell) -> LabelScorer:
        return self.models.open(cell.bench.model, cell.bench.dtype)

    def _fetch(self, cell: Cell, title: str, kind: type[OutcomeT], compute: Callable[[str], OutcomeT]) -> OutcomeT:
        key = self.key(cell)
        stored = self.store.load(key)
        if stored is not None:
            outcome = _parse(kind, stored, self.store.path(key))
            self.progress.recalled += 1
            return outcome
        started = time.monotonic()
        outcome = compute(key)
        self.store.save(key, cell, outcome.model_dump(mode="json"))
        self.progress.on_computed(cell, title, _headline(outcome), time.monotonic() - started)
        return outcome

    def _select(self, cell: SelectionCell, key: str) -> SelectionResult:
        try:
            return self._run(cell, key)
        except CheckpointError:  # from another number format or device, or damaged: start afresh
            self.store.checkpoint(key).unlink(missing_ok=True)
            return self._run(cell, key)

    def _run(self, cell: SelectionCell, key: str) -> SelectionResult:
        return select_support_examples(
            self.problem(cell),
            self.scorer(cell),
            cell.config,
            checkpoints=FileCheckpointStore(self.store.checkpoint(key)),
            progress=False,
            methods=self._methods(cell),
        )

    def _methods(self, cell: SelectionCell) -> Methods:
        model = cell.bench.model
        return {
            **METHODS,
            **coreset_methods(RememberingFineTuner(model, self.store.evidence, self.models.fine_tuner(model))),
        }

    def _evaluate(self, cell: EvaluationCell) -> CalibratedAccuracy:
        split = self.rows(cell)
        task = split.task
        prefix = task.render_prefix([one.as_example() for one in cell.demonstrations])
        rows = EvaluationRows(task, split.test)
        meter = Meter(self.scorer(cell), task.label_spans, SilentListener(), BudgetOptions(), planned=Cost())
        scores = meter.score([prefix], [*rows.queries, task.render_query(CONTENT_FREE_TEXT)])[0]
        plain, content_free = scores[:-1], scores[-1]
        calibrated = calibrate(plain, content_free).argmax(axis=1)
        return CalibratedAccuracy(
            **Judgement(plain, rows.gold).figure().model_dump(),
            calibrated_accuracy=float((calibrated == rows.gold).mean()),
        )


def _parse(kind: type[OutcomeT], stored: dict[str, Any], path: Path) -> OutcomeT:
    try:
        return kind.model_validate(stored)
    except ValidationError as error:
        raise CellDamaged(path) from error


def _headline(outcome: SelectionResult | Accuracy) -> float | None:
    figure = outcome.test if isinstance(outcome, SelectionResult) else outcome
    return None if figure is None else figure.accuracy
