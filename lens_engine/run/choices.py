"""The choices of a run: for each door, which contender is used.

There are three doors. A model that answers in text is asked by the likeliest label word (use "prompt"). One that gives
probabilities may be corrected by label biases (use "probabilities"). Where weights are at hand, or for words alone,
classifiers are contenders too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lens_engine.classifier.candidates import WITHOUT_MODEL
from lens_engine.classifier.quality import RowFigures, is_clearly_better, measure_macro_f1, share_of_largest_class
from lens_engine.classifier.regression import normalise
from lens_engine.config import Use
from lens_engine.method.judgement import Judgement
from lens_engine.method.objective import find_label_biases
from lens_engine.method.setup import Findings, Setup
from lens_engine.model.limits import keep_unanswered
from lens_engine.randomness import make_generator
from lens_engine.result import Chance, Estimate
from lens_engine.run.choose import BAGS, Choose, Corrected, Scores, correct, measure_growth
from lens_engine.run.propose import Proposal
from lens_engine.run.state import RunState
from lens_engine.run.table import NO_ANSWER, Line, Table
from lens_engine.types import Example, FloatArray, HeadlineKind, IndexArray


@dataclass(frozen=True, eq=False)
class Choices:
    """What is chosen by a table."""

    table: Table
    proposals: Sequence[Proposal]
    bags: int  #: samples of each estimate
    _estimates: dict[tuple[int, Use, bool], Estimate] = field(init=False, default_factory=dict)

    def prompt(self, use: Use, *, is_fixed: bool = False) -> Line | None:
        """The prompt for a use, in the wording of the run, or the best fixed one of them; None if none was judged."""
        best = self._choose(self._list_prompts(use, self.wording))
        if best is None or not is_fixed or self.proposals[best.prompt or 0].form.kind == "fixed":
            return best
        return self._choose(self._list_prompts(use, self.wording, is_fixed=True))

    @cached_property
    def classifier(self) -> Line | None:
        return self._choose(self._classifiers)

    @cached_property
    def demonstrations(self) -> tuple[Example, ...]:
        """The best set of ordinary size in any wording, for the use of the run; none if none was judged."""
        setup = self.table.setup
        sizes = range(1, setup.rows.quotas.num_demonstrations + 1)
        fixed = self._list_read(setup.config.use, lambda one: not one.form.nearest and len(one.rows) in sizes)
        best = self._choose(fixed)
        return () if best is None else self.proposals[best.prompt or 0].rows

    @cached_property
    def first(self) -> Line | None:
        """The better of prompt and classifier, by what to expect of each: the best of many prompts is further above its
        figure on new rows than the best of few classifiers. Of about equally good ones the cheaper."""
        use, is_macro = self.table.setup.config.use, self.table.setup.config.objective == "macro_f1"
        found = [one for one in (self.prompt(use), self.classifier) if one is not None]
        if len(found) < 2:
            return found[0] if found else None
        scores, estimates = self.table.score(found), [self.estimate(one, use) for one in found]
        expected = [one.macro_f1 if is_macro else one.accuracy for one in estimates]
        optimism = scores.average(np.ones(scores.num_rows)) - np.array(expected, dtype=np.float64)
        return found[scores.lower(optimism).choose()]

    @cached_property
    def wording(self) -> int:
        """Place of the wording of the best prompt for the use of the run."""
        best = self._choose(self._list_read(self.table.setup.config.use))
        return 0 if best is None else self.proposals[best.prompt or 0].wording

    def estimate(self, line: Line, use: Use | None, *, is_fixed: bool = False) -> Estimate:
        """What to expect of a choice: of a prompt for a use (None for that of the run), or of a classifier."""
        use = use or self.table.setup.config.use
        key = (id(line), use, is_fixed)
        if key not in self._estimates:
            self._estimates[key] = self._estimate(line, use, is_fixed=is_fixed)
        return self._estimates[key]

    def _estimate(self, line: Line, use: Use, *, is_fixed: bool) -> Estimate:
        by_wording = [self._classifiers]
        if line.prompt is not None:
            wordings = range(len(self.table.setup.tasks))
            by_wording = [self._list_prompts(use, wording, is_fixed=is_fixed) for wording in wordings]
        lines, rivals = [one for group in by_wording for one in group], self._list_rivals(use, line)
        lines += [one for group in rivals.values() for one in group if one not in lines]
        asked = max(one.num_asked for group in by_wording for one in group)
        scores, hits = self.table.score(lines, asked), self.table.score(lines, asked, by_accuracy=True).values
        places = {id(one): place for place, one in enumerate(lines)}
        named = {name: [places[id(one)] for one in group] for name, group in rivals.items() if group}
        groups = [[places[id(one)] for one in group] for group in by_wording]
        choose = self._choose_again(scores, groups)
        rng = make_generator(self.table.setup.config.seed, "estimate")
        found = correct(scores, choose, hits, named, rng, self.bags)
        growth = measure_growth(scores, choose, rng) if self.bags >= BAGS else None
        growth = None if growth is None else min(growth, round(1 - found.figure, 3))
        return self._describe(line, found, growth, scores.num_rows)

    def _choose_again(self, scores: Scores, groups: Sequence[Sequence[int]]) -> Choose:
        """How a choice is made again on other rows: first the wording, by the prompts for the use of the run, and then
        among its contenders. `groups`: their places, by wording."""
        read = [] if len(groups) < 2 else self._list_read(self.table.setup.config.use)
        of_wordings, own = self.table.score(read, scores.num_rows), [scores.take(group) for group in groups]

        def choose(weights: FloatArray) -> int:
            wording = self.proposals[read[of_wordings.choose(weights)].prompt or 0].wording if read else 0
            place = wording if groups[wording] else self.wording
            return groups[place][own[place].choose(weights)]

        return choose

    def is_short(self, line: Line) -> bool:
        """Whether a prompt was asked for fewer rows than the first choice: it was dropped, or the run ended."""
        most = len(self.table.setup.rows.judging)
        return self.first is not None and line.num_asked < min(self.first.num_asked, most)

    def is_clearly_behind(self, line: Line) -> bool:
        """Whether the first choice is better than a contender by more than chance, on the rows that both answer."""
        if self.first is None or line is self.first:
            return False
        own, other = self.table.answers(line), self.table.answers(self.first)
        both = (own != NO_ANSWER) & (other != NO_ANSWER)
        if not both.any():
            return False
        objective = self.table.setup.config.objective
        return is_clearly_better(other[both], own[both], self.table.gold[both], objective)

    def _describe(self, line: Line, found: Corrected, growth: float | None, num_rows: int) -> Estimate:
        gold: IndexArray = self.table.gold[line.places[line.places < num_rows]]
        largest = np.bincount(gold).argmax() if len(gold) else 0
        is_macro = self.table.setup.config.objective == "macro_f1"
        return Estimate(
            accuracy=found.accuracy,
            n=len(gold),
            ci95=(found.low, found.high),
            macro_f1=found.figure if is_macro else None,
            largest_class=share_of_largest_class(gold) if len(gold) else None,
            largest_class_macro_f1=measure_macro_f1(np.full(len(gold), largest), gold) if is_macro else None,
            naive=found.naive,
            beats=tuple(Chance(rival=name, chance=round(chance, 3)) for name, chance in found.beats.items()),
            more_rows=growth,
        )

    def _list_rivals(self, use: Use, line: Line) -> dict[str, list[Line]]:
        """Classifiers without a model; in the wording of the run no examples, and all random sets (those that are left
        are no average sets)."""
        found: dict[str, list[Line]] = {"zero_shot": [], "words": [], "embeddings": [], "random": []}
        for one in self.table.lines:
            asked = None if one.prompt is None else self.proposals[one.prompt]
            name = one.name if asked is None else asked.method
            is_rival = asked is None or (asked.form.kind == "fixed" and asked.wording == self.wording)
            if one is not line and is_rival and name in found and one.use in (None, use):
                found[name].append(one)
        return found

    def _choose(self, lines: Sequence[Line]) -> Line | None:
        return lines[self.table.score(lines).choose()] if lines else None

    @cached_property
    def _classifiers(self) -> list[Line]:
        return [one for one in self.table.lines if one.prompt is None]

    def _list_prompts(self, use: Use, wording: int, *, is_fixed: bool = False) -> list[Line]:
        def fits(one: Proposal) -> bool:
            return one.wording == wording and (not is_fixed or one.form.kind == "fixed")

        return self._list_read(use, fits)

    def _list_read(self, use: Use, fits: Callable[[Proposal], bool] = lambda _: True) -> list[Line]:
        """The lines of prompts that a use allows: for probabilities with label biases and without."""
        uses = ("prompt", "probabilities") if use == "probabilities" else ("prompt",)
        return [
            one
            for one in self.table.lines
            if one.prompt is not None
            and one.use in uses
            and one.prompt in self.table.left
            and len(one.places)
            and fits(self.proposals[one.prompt])
        ]


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
        """Places of the candidates that are asked for the test rows: the chosen one, and those without a model."""
        line = self.choices.classifier
        chosen = [] if line is None or line.candidate is None else [line.candidate]
        cheap = [place for place, one in enumerate(self.state.candidates) if one.name in WITHOUT_MODEL]
        return list(dict.fromkeys([*chosen, *cheap]))

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
