"""Figures as tables: of prompts, candidates for the classifier, what was tried, and what is right above a threshold."""

from collections.abc import Iterable

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective
from lens_engine.result import SelectionResult, Spread, TriedForm, TriedWording
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    USE_HEADERS,
    name_classifier,
    name_prompt,
    say_largest_class,
    show_figure,
    show_interval,
)

_F1 = "macro\nF1"
_TRIED = ("accuracy", "macro-F1", "rows")

_LEAST_ANSWERED = 0.45
"""Least share of the rows in the table of what is right above a threshold."""


def list_figures(result: SelectionResult) -> list[Table]:
    """Prompts, forms and wordings that were tried, candidates for the classifier, and the curve of the one to use."""
    tried, made = [tabulate_forms(result), tabulate_wordings(result)], [tabulate_classifiers(result)]
    return [*filter(None, (tabulate_prompts(result), *tried, *made, tabulate_answered(result)))]


def tabulate_prompts(result: SelectionResult) -> Table:
    """Accuracy and macro-F1 of each single prompt on the test rows, for both uses."""
    rows, marked, uses = list[tuple[str, ...]](), set[int](), [answer.use for answer in result.support_examples]
    for contenders in zip(*(answer.contenders for answer in result.support_examples), strict=True):
        if contenders[0].method == result.answer.method:
            marked.add(len(rows))
        n = next((str(one.test.n) for one in contenders if one.test is not None), NOTHING)
        rows.append((name_prompt(contenders[0]), *(cell for one in contenders for cell in _show_both(one.test)), n))
    if (largest := result.tested_first) is not None and largest.largest_class is not None:
        same = (show_figure(largest.largest_class), show_figure(largest.largest_class_macro_f1)) * len(uses)
        rows.append((ALWAYS_THE_LARGEST, *same, next((n for *_, n in rows if n != NOTHING), NOTHING)))
    for title, spread in (("random, on validation rows", result.random), ("other orders", result.order)):
        if spread is not None:
            others = [NOTHING] * (2 * len(uses) - 1)
            rows.append((f"{title}, mean of {spread.permutations}", _show_spread(spread), *others, str(spread.n)))
    return Table(
        title="Single prompts: accuracy on the test rows (95 % interval)",
        header=("", *(name for use in uses for name in (USE_HEADERS[use], _F1)), "n"),
        rows=tuple(rows),
        marked=frozenset(marked),
        caption="" if result.random is None else "means have the lowest and the highest accuracy in brackets",
    )


def tabulate_classifiers(result: SelectionResult) -> Table | None:
    """The candidates for the classifier, the cheapest first; None without any."""
    if not result.tested:
        return None
    largest, decides = list[tuple[str, ...]](), "log-loss" if result.objective == "accuracy" else "macro-F1"
    if (first := result.tested_first) is not None and first.largest_class is not None:
        figures = (show_figure(first.largest_class), NOTHING, show_figure(first.largest_class_macro_f1))
        largest.append((ALWAYS_THE_LARGEST, NOTHING, *figures, *[NOTHING] * 3))
    return Table(
        title="Classifiers: chosen by cross-validation, then tested on the test rows",
        header=("", f"cross-val.\n{decides}", "accuracy", "95 %\ninterval", _F1, "log-\nloss", "ECE", "tokens"),
        rows=(*(_list_figures(one, result.objective) for one in result.tested), *largest),
        marked=frozenset(place for place, one in enumerate(result.tested) if one.is_chosen),
        caption="tokens: computed for one input, demonstrations held in memory; ECE: expected calibration error",
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
        title=f"Answers above a threshold: {of}, on {rows}",
        header=("share answered", "accuracy", "threshold"),
        rows=tuple((f"{100 * one.share:.1f} %", show_figure(one.accuracy), f"{one.threshold:.4f}") for one in shown),
        caption="; ".join([*say_largest_class(figure), "answer_above (--answer-above) leaves the others to a person"]),
    )


def tabulate_forms(result: SelectionResult) -> Table | None:
    """The forms that were tried beside fixed demonstrations, the best first; None without any."""
    if not result.forms:
        return None
    fixed = [("fixed", *_show_tried([one])[0]) for one in [result.answer.plain.judged] if one is not None]
    forms = zip((one.form.name for one in result.forms), _show_tried(result.forms), strict=True)
    rows = (*fixed, *((name, *figures) for name, figures in forms))
    return Table(
        title="Forms of the prompt that were tried, on rows that are no test rows",
        header=("form", *_TRIED),
        rows=rows,
        words=("form",),
        marked=frozenset(place for place, (name, *_) in enumerate(rows) if name == result.answer.form.name),
        caption=_caption("form", result),
    )


def tabulate_wordings(result: SelectionResult) -> Table | None:
    """The templates and instructions that were tried, the chosen one first; None for one."""
    if not result.wordings:
        return None
    texts = ((one.template, one.instruction or NOTHING) for one in result.wordings)
    figures = _show_tried(result.wordings)
    return Table(
        title="Templates and instructions that were tried, by random prompts",
        header=("template", "instruction", *_TRIED),
        rows=tuple((*told, *found) for told, found in zip(texts, figures, strict=True)),
        words=("template", "instruction"),
        marked=frozenset({0}),
        caption=_caption("wording", result),
    )


def _show_tried(tried: Iterable[TriedForm | TriedWording | Accuracy]) -> list[tuple[str, str, str]]:
    return [(show_figure(one.accuracy), show_figure(one.macro_f1), f"{one.n:,}") for one in tried]


def _caption(what: str, result: SelectionResult) -> str:
    """The labels are in proportion on any number of rows, so that one share of the largest class stands for all."""
    return "; ".join([f"fewer rows: the {what} was dropped", *say_largest_class(result.answer.plain.judged)])


def _list_figures(one: TestedClassifier, objective: Objective) -> tuple[str, ...]:
    test, decided = one.test, one.cross_validated
    figures = [NOTHING] * 5
    if test is not None:
        figures = [show_figure(test.accuracy), show_interval(*test.ci95), show_figure(test.macro_f1)]
        figures += [show_figure(test.log_loss), show_figure(test.ece)]
    by = decided.log_loss if objective == "accuracy" else decided.macro_f1
    return name_classifier(one), show_figure(by), *figures, f"{one.tokens_per_input:,.0f}"


def _show_both(figure: Accuracy | None) -> tuple[str, str]:
    if figure is None:
        return NOTHING, NOTHING
    low, high = figure.ci95
    return f"{figure.accuracy:.3f} ({low:.2f}–{high:.2f})", show_figure(figure.macro_f1)


def _show_spread(spread: Spread) -> str:
    return f"{spread.mean:.3f} ({spread.min:.2f}–{spread.max:.2f})"
