"""A result as the sections of a report: what a page, a file and a notebook show."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from lens_engine.config import PresetName, SelectionConfig
from lens_engine.presets import PRESETS, flatten_options
from lens_engine.prompt.wording import end_sentence, show_count, show_percent
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import Headline, list_headlines
from lens_engine.show.answers import Answered, list_answered
from lens_engine.show.charts import Bar, draw_accuracies
from lens_engine.show.sentences import describe_asking, describe_cost, describe_retrieval, describe_suspicious_labels
from lens_engine.show.table import Figure, Section, Table
from lens_engine.show.tables import (
    list_shown,
    tabulate_answered,
    tabulate_biases,
    tabulate_contenders,
    tabulate_effects,
    tabulate_examples,
    tabulate_facts,
    tabulate_shares,
    tabulate_suspicious,
)
from lens_engine.show.verdict import say_beside, say_decision, write_box
from lens_engine.show.ways import explain_marks, list_read
from lens_engine.show.words import HEADLINES, PROMPT_PRICE, join_names, quote_label, show_accuracy, show_option

_SUGGESTED = {"labels.rare": "labels with too few rows", "rows.unlabelled": "rows without a label"}
"""Options that a suggestion gives where a file needs them: what a run with them leaves out."""


class RunRequest(NamedTuple):
    """What was asked for. Several templates or instructions are those that the run chooses among."""

    model: str
    template: str | Sequence[str]
    instruction: str | Sequence[str] | None
    words: Mapping[str, str]  #: label words, by label
    preset: PresetName
    config: SelectionConfig

    @classmethod
    def of(cls, result: SelectionResult) -> "RunRequest":
        """What a result says of it: the wording that was chosen, and the preset that is nearest to its options."""
        task, config = result.task, SelectionConfig.model_validate(result.provenance.config)
        preset = min(PRESETS, key=lambda name: len(list_changes(name, config)))
        words = {one.label: one.word for one in task.label_words}
        return cls(result.provenance.model, task.template, task.instruction, words, preset, config)

    def list_parts(self) -> dict[str, str]:
        """The parts by name, and each option that differs from the preset by its path."""
        changes = list_changes(self.preset, self.config)
        left_out = {what: "left out" for path, what in _SUGGESTED.items() if changes.pop(path, None) is not None}
        changed = {path: show_option(value) for path, value in changes.items()}
        return {
            "model": self.model,
            "preset": self.preset + (f", with {show_count(len(changed), 'option')} changed" if changed else ""),
            **_list_texts("template", self.template),
            **(_list_texts("instruction", self.instruction) if self.instruction else {}),
            "label words": ", ".join(f"{label}: {word}" for label, word in self.words.items()),
            **left_out,
            **changed,
        }

    def tabulate(self) -> Table:
        """The parts as a table."""
        return Table("The task and its options", ("", "value"), tuple(self.list_parts().items()), words=("", "value"))


def list_changes(preset: PresetName, config: SelectionConfig) -> dict[str, Any]:
    """The options that differ from a preset, by their paths."""
    usual, own = (flatten_options(one.model_dump(mode="json")) for one in (PRESETS[preset], config))
    return {path: value for path, value in own.items() if value != usual[path]}


def _list_texts(name: str, given: str | Sequence[str]) -> dict[str, str]:
    """One text under its name, or several that the run chooses among, with their numbers."""
    if isinstance(given, str):
        return {name: given}
    return {f"{name} {number}": text or "none" for number, text in enumerate(given, start=1)}


_FIXED = "For tools that take the same examples for every text"
_UNTESTED = "Nothing was judged."
_NONE_WRONG = "No label is contradicted strongly enough to be listed; with few rows, wrong ones can be missed."
_MOST_LABELS = 5
"""Largest number of labels in a title."""
_NO_PROBABILITIES = "The model gives no probabilities."


class Texts(NamedTuple):
    """Texts by row number, as far as they are known."""

    dataset: Mapping[int, str] = {}
    test: Mapping[int, str] = {}  #: of a file of test rows


@dataclass(frozen=True)
class ResultView:
    """The sections of a result."""

    result: SelectionResult
    texts: Texts = field(default_factory=Texts)
    name: str | None = None  #: of the selection, or of its file
    made: date | None = None
    told: tuple[str, ...] = ()  #: what must be known of the rows before the figures are believed

    @property
    def title(self) -> str:
        """The question that the result answers."""
        labels = [quote_label(label) for label in self.result.task.labels]
        if (rest := len(labels) - _MOST_LABELS) > 0:
            labels[_MOST_LABELS:] = [show_count(rest, "other label")]
        return f"How to tell {join_names(labels)} apart"

    @property
    def about(self) -> str:
        """The file, the model and the day."""
        day = "" if self.made is None else f"{self.made.day} {self.made:%B %Y}"
        origin = self.result.provenance
        return " · ".join(filter(None, [self.name, origin.model, day, f"Lens {origin.lens}"]))

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections below the box, in order; those for specialists last."""
        first = (self.accuracies, self.confusion, self.prompt, self.suspicious)
        return tuple(filter(None, (*first, self.asked, self.examples, self.calibration, self.run)))

    @property
    def box(self) -> Section:
        """What a person signs."""
        lines = write_box(self.result, self.count_texts(), self.told)
        return Section("choice", "What to use", lines=lines, notes=self._notes, is_lead=True)

    def count_texts(self) -> dict[str, int]:
        """Number of texts of the user in each part of a report."""
        shown = {row for one, _ in list_shown(self.result.answer) for row in one.rows}
        suspicious = sum(one.row in self.texts.dataset for one in self.result.suspicious_labels)
        wrong = len(self.wrong_rows & self._texts.keys())
        return {"the prompt": len(shown), "the wrong answers": wrong, "the suspicious labels": suspicious}

    @property
    def choice(self) -> Section:
        """What to use in few sentences; what must be known beside is folded away."""
        told, *rest = say_decision(self.result)
        text = tuple(filter(None, [told, *(" ".join(filter(None, one)) for one in (rest, say_beside(self.result)))]))
        return Section("choice", "What to use", text, figures=self._list_figures(), notes=self._notes, is_lead=True)

    @property
    def _notes(self) -> tuple[str, ...]:
        return tuple(map(end_sentence, self.result.warnings))

    def _list_figures(self) -> tuple[Figure, ...]:
        found = list_headlines(self.result)
        return tuple(
            Figure(HEADLINES[one.kind], show_accuracy(one.expected), self._describe(one), is_first=one is found[0])
            for one in found
        )

    def _describe(self, one: Headline) -> str:
        low, high = map(show_percent, one.expected.ci95)
        rows = show_count(one.expected.n, "test text" if self.result.is_tested else "row")
        price = {"words": "no model", "prompt": PROMPT_PRICE}.get(one.kind, f"{one.tokens or 0:,.0f} tokens a text")
        return f"{low}–{high} % · {rows} · {price}"

    @property
    def prompt(self) -> Section:
        """The prompt itself, and how it finds its examples; folded where something else is to be used."""
        result, answer, shown = self.result, self.result.answer, list_shown(self.result.answer)
        name = "The beginning of the prompt" if answer.fixed else "The prompt"
        return Section(
            "prompt",
            "The prompt",
            tuple(filter(None, [describe_retrieval(result, answer), describe_asking(result.task)])),
            code=tuple((_FIXED if is_other else name, one.prompt) for one, is_other in shown if one.prompt),
            folded=tuple(tabulate_examples(one, is_other=is_other) for one, is_other in shown),
            is_special=result.first != "prompt",
        )

    @property
    def accuracies(self) -> Section:
        """Every way to answer: how often it is right, with its interval, and what it costs."""
        bars, table = list_bars(self.result), tabulate_contenders(self.result)
        return Section(
            "accuracies",
            "How often each is right",
            explain_marks(list_read(self.result)) if bars else (_UNTESTED,),
            charts=(draw_accuracies(bars),) if bars else (),
            folded=() if table is None else (table,),
        )

    @property
    def examples(self) -> Section | None:
        """What each example does alone, and the corrections; None if the run measured neither."""
        answer = self.result.answer
        tables = (*(tabulate_effects(one) for one, _ in list_shown(answer)), tabulate_biases(answer))
        shown = tuple(filter(None, tables))
        return Section("examples", "What each example does", tables=shown, is_special=True) if shown else None

    @property
    def confusion(self) -> Section:
        """Which labels are taken for which, with the rows."""
        answered = self.answered
        return Section(
            "confusion",
            "Which labels are mixed up",
            () if answered else (_UNTESTED,),
            matrices=tuple(one.matrix for one in answered if one.has_matrix),
            tables=tuple(one.tabulate_confused() for one in answered if not one.has_matrix),
            folded=tuple(one.tabulate_wrong(self._texts) for one in answered),
        )

    @property
    def _texts(self) -> Mapping[int, str]:
        """Texts of the rows that have answers."""
        return self.texts.test if self.result.has_test else self.texts.dataset

    @property
    def calibration(self) -> Section:
        """Whether an answer is as often right as its probability says, and what is right above a threshold."""
        found = [one for one in self.answered if one.probabilities is not None]
        told = [f"The {one.title}: {one.calibration}." for one in found if one.calibration]
        text = tuple(told) if found else (_NO_PROBABILITIES if self.answered else _UNTESTED,)
        shares = [tabulate_answered(self.result)]  # of the classifier, by which a person chooses the threshold
        for one in self.answered:
            if one.quality is not None and one.name != "classifier":
                rows = show_count(one.quality.n, "test text" if one.is_test else "row")
                shares.append(tabulate_shares(one.title, one.quality, rows))
        tables = tuple(filter(None, shares))
        return Section("calibration", "Can the percentages be trusted?", text, tables=tables, is_special=True)

    @property
    def suspicious(self) -> Section:
        """Rows whose label may be wrong."""
        untold = _NONE_WRONG if self.result.tested else "No label was checked: no classifier was made."
        text = describe_suspicious_labels(self.result) or untold
        table = tabulate_suspicious(self.result, self.texts.dataset)
        return Section("suspicious", "Suspicious labels", (text,), tables=(table,) if table else ())

    @property
    def asked(self) -> Section:
        """The task, and the options that differ from a preset."""
        return Section("asked", "What was asked", (), tables=(RunRequest.of(self.result).tabulate(),))

    @property
    def run(self) -> Section:
        """Rows, cost and everything needed to repeat the run."""
        text = (describe_cost(self.result),)
        return Section("run", "The run", text, folded=tabulate_facts(self.result), is_special=True)

    @property
    def wrong_rows(self) -> set[int]:
        """Numbers of the rows that are listed as wrong."""
        return {row for one in self.answered for row, *_ in one.wrong}

    @cached_property
    def answered(self) -> list[Answered]:
        """The answers row by row: of the classifier, then of the support examples for each use."""
        return list_answered(self.result)


def list_bars(result: SelectionResult) -> list[Bar]:
    """The ways to answer as the prompt of the run is read, with a mark where a figure is no estimate."""
    return [
        Bar(
            one.title,
            one.figure.accuracy,
            *one.figure.ci95,
            one.figure.n,
            is_prompt=one.contender is not None and one.contender.kind == "prompt",
            is_chosen=one.is_first,
        )
        for one in list_read(result)
    ]


if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

_PERCENT = re.compile(r"(?<=\d) %")
_FOLDER = Path(__file__).parent

STYLESHEET = _FOLDER / "lens.css"
"""File of the stylesheet. Its rules hold inside an element of the class `lens`."""


def make_environment(*loaders: "BaseLoader") -> "Environment":
    """Templates that escape every text and refuse names that they were not given; looked for in `loaders` first."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined  # slow; most runs write no HTML

    environment = Environment(
        loader=ChoiceLoader([*loaders, FileSystemLoader(_FOLDER / "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = join_percent
    return environment


def join_percent(text: str) -> str:
    """Sentences of Lens, and what they quote, in which no line ends between a number and its per cent sign."""
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", text)


def write_html(view: ResultView) -> str:
    """One HTML file without scripts, with the stylesheet and the charts in it."""
    return _render("report.html", view=view)


def write_fragment(*parts: Section | Table | str) -> str:
    """Sections, tables and sentences as a part of a notebook."""
    return _render("fragment.html", parts=parts)


def _render(template: str, **values: object) -> str:
    stylesheet = Markup(STYLESHEET.read_text("utf-8"))
    return make_environment().get_template(template).render(stylesheet=stylesheet, **values)
