"""The cells of the table: one figure of one entry on one bench, computed once and kept in a file."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import ValidationError
from scipy.special import log_softmax

from lab.experiments.datasets import FindDataset
from lab.experiments.entries import LENS, NUM_RANDOM, RIVAL, Entry
from lab.experiments.searches import choose_random, search_by_lens
from lab.experiments.sizes import Bench, Size
from lab.rivals.coresets import choose_coreset
from lab.rivals.evidence import Evidence, FineTuner
from lens_engine import __version__
from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.disk import replace_file
from lens_engine.errors import InvalidConfig, InvalidDataset
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.method.judgement import EvaluationRows
from lens_engine.method.permutations import draw_permutations
from lens_engine.method.setup import Setup
from lens_engine.model.base import LabelScorer
from lens_engine.rows.dealing import SEARCH_FROM
from lens_engine.run.preparation import prepare_run
from lens_engine.types import Example, FloatArray, LabelLogProbs, Permutation, Record


class Figure(Record):
    """What one entry reached on the test rows of one bench: the mean over its prompts."""

    accuracy: float
    calibrated: float  #: after contextual calibration
    n: int
    machine: str  #: number format and device


@dataclass
class Cells:
    """Figures, each computed once. A cell that was interrupted begins again; the pair cache has most of its scores.

    The folder may be deleted, and so may any of its files: a missing cell is computed again.
    """

    folder: Path
    size: Size
    find_dataset: FindDataset
    open_scorer: Callable[[], LabelScorer]
    fine_tune: FineTuner
    say: Callable[[str], None]
    done: int = field(init=False, default=0)
    _setup: tuple[Any, Setup] | None = field(init=False, default=None)
    _evidence: tuple[Any, Evidence] | None = field(init=False, default=None)

    @cached_property
    def scorer(self) -> LabelScorer:
        return self.open_scorer()

    def figure(self, entry: Entry, bench: Bench) -> Figure:
        """The figure of a cell, from its file or computed.

        Raises:
            LensError: as `prepare_run` and as loading the model; or the file is damaged, or the rows are too few.
        """
        config = entry.config(self.size, self.find_dataset(bench.dataset).settings, bench.seed)
        path = self.folder / f"{self._key(entry, bench, config)}.json"
        self.done += 1
        if path.exists():
            return _read(path)
        started = time.monotonic()
        prompts = [self.measure(prompt, bench, config) for prompt in self.prompts(entry, bench, config)]
        identity = self.scorer.identity
        found = Figure(
            accuracy=fmean(plain for plain, _ in prompts),
            calibrated=fmean(calibrated for _, calibrated in prompts),
            n=len(self.setup(bench, config).rows.test),
            machine=f"{identity.dtype} on {identity.device}",
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, (found.model_dump_json(indent=1) + "\n").encode())
        taken = time.monotonic() - started
        self.say(f"{self.done}  {bench.dataset} seed {bench.seed} {entry.name}  {found.accuracy:.3f}  ({taken:.0f} s)")
        return found

    def prompts(self, entry: Entry, bench: Bench, config: SelectionConfig) -> list[Sequence[Example]]:
        """The demonstrations of each prompt that the figure is of.

        Raises:
            InvalidConfig: a budget ended the search.
            LensError: as `figure`.
        """
        if entry.chooser == "zero_shot":
            return [()]
        setup = self.setup(bench, config)
        candidates = setup.lens_rows.candidates
        if entry.chooser == "random":
            drawn = draw_permutations(candidates, setup.task, setup.rows.quotas, config.seed, NUM_RANDOM)
        elif entry.chooser in (LENS, RIVAL):
            drawn = [self._search(entry, setup)]
        else:
            drawn = [choose_coreset(entry.chooser, self._find_evidence(bench, config), setup)]
        return [[candidates[place] for place in permutation] for permutation in drawn]

    def measure(self, prompt: Sequence[Example], bench: Bench, config: SelectionConfig) -> tuple[float, float]:
        """The accuracy of a prompt on the test rows, plain and calibrated."""
        setup = self.setup(bench, config)
        task, rows = setup.task, EvaluationRows(setup.task, setup.rows.test)
        queries = [*rows.queries, task.render_query("N/A")]  # of contextual calibration (Zhao et al., 2021)
        scores = self._meter(setup, BudgetOptions()).score([task.render_prefix(prompt)], queries)[0]
        judged = (scores[:-1], calibrate(scores[:-1], scores[-1]))
        plain, calibrated = (float((one.argmax(axis=1) == rows.gold).mean()) for one in judged)
        return plain, calibrated

    def setup(self, bench: Bench, config: SelectionConfig) -> Setup:
        """The rows, fitted to the context of the model.

        Raises:
            InvalidDataset: there are too few rows for a search.
        """
        if self._setup is None or self._setup[0] != (bench, config):  # consecutive cells often share them
            found = prepare_run(self._problem(bench), self.scorer, config).setup
            if not found.rows.search:
                raise InvalidDataset(
                    f"{bench.dataset} has fewer than {SEARCH_FROM} usable rows; add rows", field="dataset"
                )
            self._setup = ((bench, config), found)
        return self._setup[1]

    def _search(self, entry: Entry, setup: Setup) -> Permutation:
        meter = self._meter(setup, setup.config.budget)
        try:
            return search_by_lens(setup, meter) if entry.chooser == LENS else choose_random(setup, meter, entry.drawn)
        except Stopped as stopped:
            raise InvalidConfig(
                f"the budget of {entry.name!r} is too small; raise it", field="options.budget"
            ) from stopped

    def _meter(self, setup: Setup, budget: BudgetOptions) -> Meter:
        return Meter(self.scorer, setup.task.label_spans, SilentListener(), budget, planned=Cost())

    def _find_evidence(self, bench: Bench, config: SelectionConfig) -> Evidence:
        """The evidence of a fine-tuning, which all coreset methods of a bench share."""
        if self._evidence is None or self._evidence[0] != (bench, config):
            setup = self.setup(bench, config)
            candidates, _, validation = setup.lens_rows
            found = self.fine_tune(setup.task, candidates, validation, config.seed)
            self._evidence = ((bench, config), found)
        return self._evidence[1]

    def _problem(self, bench: Bench) -> Any:
        return self.find_dataset(bench.dataset).problem(bench.template)

    def _key(self, entry: Entry, bench: Bench, config: SelectionConfig) -> str:
        """SHA-256 of what decides the figure on one machine. A model is identified by its reference."""
        digest, size = self.find_dataset(bench.dataset).sha256, self.size
        parts = [
            __version__,
            size.model,
            size.dtype,
            digest,
            bench,
            entry.chooser,
            entry.drawn,
            config.model_dump(mode="json"),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def calibrate(label_log_probs: LabelLogProbs, content_free: LabelLogProbs) -> FloatArray:
    """Contextual calibration: divide by the probabilities that the model gives for a content-free input.

    Zhao et al., "Calibrate Before Use" (ICML 2021), with the diagonal matrix W = diag(p_cf)^-1.

    Args:
        label_log_probs: `[..., queries, labels]`.
        content_free: `[..., labels]`, after the same prefixes, for the input "N/A".

    Returns:
        `[..., queries, labels]` float64, up to a constant for each query.
    """
    within = log_softmax(label_log_probs.astype(np.float64), axis=-1)
    bias = log_softmax(content_free.astype(np.float64), axis=-1)
    return np.asarray(within - bias[..., None, :])


def _read(path: Path) -> Figure:
    try:
        return Figure.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InvalidConfig(f"{path} is damaged; remove it, and the cell is computed again", field="store") from error
