"""Figures as tables: of prompts, candidates for the classifier, what was tried, and what is right above a threshold."""

from collections.abc import Iterable

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective
from lens_engine.result import SelectionResult, Spread, TriedForm, TriedWording
from lens_engine.retrieval.form import PromptForm
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    NOT_TESTED,
    USE_HEADERS,
    name_classifier,
    name_form,
    name_prompt,
    say_largest_class,
    show_f1,
    show_figure,
    show_with_range,
)
from lens_engine.task.wording import show_percent, show_share

_F1 = "macro\nF1"
_TRIED = ("right answers", "macro-F1", "rows")

_LEAST_ANSWERED = 0.45
"""Least share of the rows in the table of what is right above a threshold."""


def list_figures(result: SelectionResult) -> list[Table]:
    """Prompts, forms and wordings that were tried, candidates for the classifier, and the curve of the one to use."""
    tried, made = [tabulate_forms(result), tabulate_wordings(result)], [tabulate_classifiers(result)]
    return [*filter(None, (tabulate_prompts(result), *tried, *made, tabulate_answered(result)))]


def tabulate_prompts(result: SelectionResult) -> Table:
    """How often each single prompt is right on the test rows, with macro-F1, for both uses."""
    rows, marked, uses = list[tuple[str, ...]](), set[int](), [answer.use for answer in result.support_examples]
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        if contenders[0].form.nearest and all(one.test is None for one in contenders):  # it lost before
            continue
        if contenders[0].method == result.answer.method:
            marked.add(len(rows))
        rows.append((name_prompt(contenders[0]), *(cell for one in contenders for cell in _show_both(one.test))))
    largest = result.tested_first
    if largest is not None and largest.largest_class is not None:
        share = show_share(largest.largest_class, largest.n)
        rows.append((ALWAYS_THE_LARGEST, *(share, show_f1(largest.largest_class_macro_f1)) * len(uses)))
    if (spread := result.random) is not None:
        others = [NOTHING] * (2 * len(uses) - 1)
        rows.append((f"random examples, {NOT_TESTED}, mean of {spread.permutations}", _show_spread(spread), *others))
    tested = "" if largest is None else f" of {largest.n:,} test texts"
    return Table(
        title=f"Prompts: right answers{tested}",
        header=("", *(name for use in uses for name in (USE_HEADERS[use], _F1))),
        rows=tuple(rows),
        marked=frozenset(marked),
        caption="in brackets: 95 % range; of means the lowest and the highest",
    )


def tabulate_classifiers(result: SelectionResult) -> Table | None:
    """The candidates for the classifier, the cheapest first; None without any."""
    if not result.tested:
        return None
    largest, decides = list[tuple[str, ...]](), "log-loss" if result.objective == "accuracy" else "macro-F1"
    if (first := result.tested_first) is not None and first.largest_class is not None:
        share = show_share(first.largest_class, first.n)
        largest.append((ALWAYS_THE_LARGEST, share, show_f1(first.largest_class_macro_f1), *[NOTHING] * 4))
    return Table(
        title="Classifiers compared",
        header=("", "right answers", _F1, "tokens\na text", f"cross-val.\n{decides}", "log-loss", "ECE"),
        rows=(*(_list_figures(one, result.objective) for one in result.tested), *largest),
        marked=frozenset(place for place, one in enumerate(result.tested) if one.is_chosen),
        caption="chosen by cross-validation, then tested on the test texts; ECE: expected calibration error",
    )


def tabulate_answered(result: SelectionResult) -> Table | None:
    """Accuracy of the classifier to use against the share that it answers, by cross-validation; None without one."""
    chosen = next((one.cross_validated for one in result.tested if one.is_chosen), None)
    if chosen is None:
        return None
    return tabulate_shares("classifier", chosen, f"{chosen.n:,} rows by cross-validation")


def tabulate_shares(of: str, figure: Quality, rows: str) -> Table | None:
    """The beginning of the curve of accuracy against the share answered; None where all probabilities are equal.

    Args:
        of: whose answers they are.
        rows: names the rows.
    """
    shown = [one for one in figure.shares_answered if one.share >= _LEAST_ANSWERED]
    if len(shown) < 2:
        return None
    return Table(
        title=f"Leave doubtful texts to a person: {of}, on {rows}",
        header=("answered", "right answers\namong these", "threshold"),
        rows=tuple(
            (show_share(one.share, 100), show_share(one.accuracy, figure.n), f"{one.threshold:.4f}") for one in shown
        ),
        caption="; ".join([*say_largest_class(figure), "answer_above (--answer-above) leaves the others empty"]),
    )


def tabulate_forms(result: SelectionResult) -> Table | None:
    """The forms that were tried beside fixed demonstrations, the best first; None without any."""
    if not result.forms:
        return None
    fixed = [
        (name_form(PromptForm()), *_show_tried([one])[0]) for one in [result.answer.plain.judged] if one is not None
    ]
    forms = zip((name_form(one.form) for one in result.forms), _show_tried(result.forms), strict=True)
    rows = (*fixed, *((name, *figures) for name, figures in forms))
    return Table(
        title="Forms of the prompt that were tried, on rows that decide",
        header=("form", *_TRIED),
        rows=rows,
        words=("form",),
        marked=frozenset(place for place, (name, *_) in enumerate(rows) if name == name_form(result.answer.form)),
        caption=_caption("form", result),
    )


def tabulate_wordings(result: SelectionResult) -> Table | None:
    """The templates and instructions that were tried, the chosen one first; None for one."""
    if not result.wordings:
        return None
    texts = ((one.template, one.instruction or NOTHING) for one in result.wordings)
    figures = _show_tried(result.wordings)
    return Table(
        title="Templates and instructions that were tried, with random examples",
        header=("template", "instruction", *_TRIED),
        rows=tuple((*told, *found) for told, found in zip(texts, figures, strict=True)),
        words=("template", "instruction"),
        marked=frozenset({0}),
        caption=_caption("wording", result),
    )


def _show_tried(tried: Iterable[TriedForm | TriedWording | Accuracy]) -> list[tuple[str, str, str]]:
    return [(show_share(one.accuracy, one.n), show_f1(one.macro_f1), f"{one.n:,}") for one in tried]


def _caption(what: str, result: SelectionResult) -> str:
    """The labels are in proportion on any number of rows, so that one share of the largest class stands for all."""
    return "; ".join([f"fewer rows: the {what} was dropped", *say_largest_class(result.answer.plain.judged)])


def _list_figures(one: TestedClassifier, objective: Objective) -> tuple[str, ...]:
    test, decided = one.test, one.cross_validated
    by = show_figure(decided.log_loss) if objective == "accuracy" else show_f1(decided.macro_f1)
    figures = (NOTHING, NOTHING) if test is None else (show_figure(test.log_loss), show_figure(test.ece))
    return name_classifier(one), *_show_both(test), f"{one.tokens_per_input:,.0f}", by, *figures


def _show_both(figure: Accuracy | None) -> tuple[str, str]:
    return show_with_range(figure), NOTHING if figure is None else show_f1(figure.macro_f1)


def _show_spread(spread: Spread) -> str:
    return f"{show_share(spread.mean, spread.n)} ({show_percent(spread.min)}–{show_percent(spread.max)})"
