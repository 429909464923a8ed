"""What a run has found by now: its state, its choices, and what the test rows say of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lens_engine.classifier.log_probs import normalise
from lens_engine.classifier.quality import RowFigures
from lens_engine.config import Use
from lens_engine.run.choices import Choices
from lens_engine.run.state import RunState
from lens_engine.run.table import Line
from lens_engine.scoring.no_answer import keep_unanswered
from lens_engine.search.judgement import Judgement
from lens_engine.search.objective import find_label_biases
from lens_engine.search.setup import Findings, Setup
from lens_engine.types import FloatArray, HeadlineKind, IndexArray


@dataclass(frozen=True, eq=False)
class Found:
    """What a run has found by now."""

    state: RunState
    findings: Findings
    choices: Choices

    @property
    def setup(self) -> Setup:
        return self.choices.table.setup

    @property
    def is_empty_handed(self) -> bool:
        """Whether nothing speaks for the prompt: no row was judged, and nothing was searched."""
        return not self.findings.finalists and not any(one.prompt is not None for one in self.choices.table.lines)

    @property
    def first(self) -> HeadlineKind:
        line = self.choices.first
        if line is None or line.prompt is not None:
            return "prompt"
        return "words" if self.state.candidates[line.candidate or 0].name == "bag_of_words" else "classifier"

    def list_tested_prompts(self) -> list[int]:
        """Places of the proposals that are asked for the test rows: the chosen ones, and no examples."""
        found = [line.prompt for _, line in self._list_chosen() if line is not None and line.prompt is not None]
        return list(dict.fromkeys([*found, *self._list_zero_shot()]))

    def list_tested_classifiers(self) -> list[int]:
        """Places of the candidates that are asked for the test rows: the chosen one, and word counting."""
        line = self.choices.classifier
        chosen = [] if line is None or line.candidate is None else [line.candidate]
        words = [place for place, one in enumerate(self.state.candidates) if one.name == "bag_of_words"]
        return list(dict.fromkeys([*chosen, *words]))

    def _list_chosen(self) -> list[tuple[Use, Line | None]]:
        uses = self.setup.uses
        return [(use, self.choices.prompt(use, is_fixed=is_fixed)) for use in uses for is_fixed in (False, True)]

    def _list_zero_shot(self) -> list[int]:
        wording = self.choices.wording
        proposals = enumerate(self.choices.proposals)
        return [place for place, one in proposals if one.method == "zero_shot" and one.wording == wording]

    @cached_property
    def test_gold(self) -> IndexArray:
        return self.setup.task.index_labels(self.setup.rows.test)

    def test_line(self, line: Line) -> RowFigures | None:
        """A contender on the test rows, a prompt as its line is read; None if it was not asked for them."""
        if line.prompt is None:
            found = self.state.tested_classifiers.get(line.candidate or 0)
            return None if found is None else found.figures(self.test_gold)
        if line.prompt not in self.state.tested:
            return None
        plain = self.state.tested[line.prompt].astype(np.float64)
        biases = self.find_biases(line)
        read = keep_unanswered(normalise(plain if biases is None else plain + biases), plain)
        return RowFigures.of(read, self.test_gold)

    def find_biases(self, line: Line) -> FloatArray | None:
        """`[labels]`, label biases from all judging rows that a prompt does not show; None if it is read without."""
        if line.use != "probabilities" or line.prompt is None or self.state.judging is None or not len(line.places):
            return None
        scores = self.state.judging.cells[line.prompt][line.places]
        return find_label_biases(Judgement(scores, self.choices.table.gold[line.places]))

    def judge_line(self, line: Line) -> RowFigures:
        return RowFigures.of(line.log_probs, self.choices.table.gold[line.places])
