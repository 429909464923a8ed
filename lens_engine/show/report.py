"""A result as the sections of a report: what a page, a file and a notebook show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from lens_engine.result import SelectionResult, Spread
from lens_engine.show.answers import Answered, list_answered
from lens_engine.show.charts import Bar, Point, draw_accuracies, draw_calibration, draw_frontier
from lens_engine.show.figures import (
    tabulate_answered,
    tabulate_classifiers,
    tabulate_forms,
    tabulate_prompts,
    tabulate_shares,
    tabulate_wordings,
)
from lens_engine.show.sentences import (
    describe_asking,
    describe_cost,
    describe_ranking_rows,
    describe_retrieval,
    describe_suspicious_labels,
    warn_of_examples,
)
from lens_engine.show.table import Section, Table
from lens_engine.show.tables import (
    list_shown,
    tabulate_biases,
    tabulate_effects,
    tabulate_examples,
    tabulate_facts,
    tabulate_suspicious,
)
from lens_engine.show.words import ALWAYS_THE_LARGEST, name_classifier, name_contender, name_use

_UNTESTED = "The result does not have this: the run tested nothing."
_NO_PROBABILITIES = "The result does not have this: the model gives no probabilities."


class Texts(NamedTuple):
    """Texts by row number, as far as they are known."""

    dataset: Mapping[int, str] = {}
    test: Mapping[int, str] = {}


@dataclass(frozen=True)
class ResultView:
    """The sections of a result."""

    result: SelectionResult
    texts: Texts = field(default_factory=Texts)
    name: str | None = None  #: title of a report
    about: str = ""  #: where the result comes from, below the title

    @property
    def title(self) -> str:
        return self.name or f"Selection for {self.result.provenance.model}"

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections, in order."""
        first = (self.choice, self.accuracies, self.candidates, self.examples)
        return (*first, self.confusion, self.calibration, self.suspicious, self.run)

    @property
    def choice(self) -> Section:
        """What to use, and what may surprise."""
        result = self.result
        told = filter(None, [result.verdict.sentence, result.answer.reason, warn_of_examples(result)])
        notes = (f"Note: {one}." for one in result.warnings)
        return Section("choice", "What to use", (*told, *notes), is_lead=True)

    @property
    def accuracies(self) -> Section:
        """Every classifier and prompt on the test rows, with their intervals."""
        bars = list_bars(self.result)
        band = _draw_spread("random prompts (on validation rows), lowest to highest", self.result.random)
        return Section(
            "accuracies",
            "Accuracies on the test rows",
            tuple(filter(None, [describe_ranking_rows(self.result)])),
            charts=(draw_accuracies(bars, *band),) if bars else (),
            tables=(tabulate_prompts(self.result),),
        )

    @property
    def candidates(self) -> Section:
        """The candidates for the classifier, and which are worth their tokens."""
        figures = [(one, one.test) for one in self.result.tested]
        points = [
            Point(name_classifier(one), one.tokens_per_input, test.accuracy, one.is_chosen)
            for one, test in figures
            if test
        ]
        table = tabulate_classifiers(self.result)
        return Section(
            "candidates",
            "Candidates for the classifier",
            () if table else ("The run made no classifier.",),
            charts=(draw_frontier(points),) if points else (),
            tables=(table,) if table else (),
        )

    @property
    def examples(self) -> Section:
        """The support examples for each use, with their effects and the label biases; equal ones once."""
        answers = self.result.support_examples
        seen = [(one.form, one.rows, one.plain.rows) for one in answers]
        found = [one for place, one in enumerate(answers) if seen[place] not in seen[:place]]
        told = dict.fromkeys(describe_retrieval(self.result, one) for one in found)
        tables, code = list[Table | None](), list[tuple[str, str]]()
        for answer in found:
            for one, is_other in list_shown(answer):
                tables += [tabulate_examples(one, is_other=is_other), tabulate_effects(one)]
                if one.prompt:
                    name = "fixed form of the prompt" if is_other else "beginning of the prompt"
                    code.append((f"The {name if answer.fixed else 'prompt'}, {name_use(one.use)}", one.prompt))
            tables.append(tabulate_biases(answer))
        tables += [tabulate_forms(self.result), tabulate_wordings(self.result)]
        return Section(
            "examples",
            "Support examples",
            tuple(filter(None, told)),
            tables=tuple(filter(None, tables)),
            code=tuple(code),
        )

    @property
    def confusion(self) -> Section:
        """Which labels are taken for which, with the rows."""
        answered = self.answered
        return Section(
            "confusion",
            "Which labels are confused",
            () if answered else (_UNTESTED,),
            matrices=tuple(one.matrix for one in answered if one.has_matrix),
            tables=tuple(one.tabulate_confused() for one in answered if not one.has_matrix),
            folded=tuple(one.tabulate_wrong(self.texts.test) for one in answered),
        )

    @property
    def calibration(self) -> Section:
        """Whether an answer is as often right as its probability says, and what is right above a threshold."""
        found = [(one, bins) for one in self.answered if (bins := one.list_bins())]
        charts = tuple(draw_calibration(bins, one.title, name=f"calibration-{one.name}") for one, bins in found)
        tables = tuple(one.tabulate_bins(bins) for one, bins in found)
        text = () if found else (_NO_PROBABILITIES if self.answered else _UNTESTED,)
        shares = [tabulate_answered(self.result)]
        for one in self.answered:
            if one.quality is not None:
                shares.append(tabulate_shares(one.title, one.quality, f"{one.quality.n:,} test rows"))
        shown = tuple(filter(None, shares))
        title = "Whether probabilities can be trusted"
        return Section("calibration", title, text, charts=charts, tables=shown, folded=tables)

    @property
    def suspicious(self) -> Section:
        """Rows whose label is probably wrong."""
        text = describe_suspicious_labels(self.result) or "No label is contradicted with confidence."
        table = tabulate_suspicious(self.result, self.texts.dataset)
        return Section("suspicious", "Suspicious labels", (text,), tables=(table,) if table else ())

    @property
    def run(self) -> Section:
        """Rows, cost and everything needed to repeat the run."""
        result = self.result
        text = tuple(filter(None, [describe_cost(result), describe_asking(result.task)]))
        return Section("run", "The run", text, folded=tabulate_facts(result))

    @property
    def wrong_rows(self) -> set[int]:
        """Numbers of the test rows that are listed as wrong."""
        return {row for one in self.answered for row, *_ in one.wrong}

    @cached_property
    def answered(self) -> list[Answered]:
        """The answers on the test rows: of the classifier, then of the support examples for each use."""
        return list_answered(self.result)


def list_bars(result: SelectionResult) -> list[Bar]:
    """Classifiers, then prompts for each use, then other orders."""
    tested = [(name_classifier(one), one.test, False, one.is_chosen) for one in result.tested]
    for answer in result.support_examples:
        tested += [(name_contender(one, answer.use), one.test, True, False) for one in answer.contenders]
    bars = [Bar(name, test.accuracy, *test.ci95, *kind) for name, test, *kind in tested if test is not None]
    if (share := result.largest_class) is not None:
        bars.append(Bar(ALWAYS_THE_LARGEST, share, share, share))
    return [*bars, *_draw_spread("same examples, other orders, lowest to highest", result.order)]


def _draw_spread(label: str, spread: Spread | None) -> list[Bar]:
    return [] if spread is None else [Bar(label, spread.mean, spread.min, spread.max, is_prompt=True)]
