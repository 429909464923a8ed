"""Figures as tables: of every contender, of what is right above a threshold, and of an evaluation."""

from collections.abc import Callable

from lens_engine.classifier.quality import Quality
from lens_engine.prompt.wording import describe_usd, shorten, show_count, show_percent, show_right, show_share
from lens_engine.result import Contender, SelectionResult
from lens_engine.result.parts import EvaluationResult
from lens_engine.result.selection_result import find_chosen, find_quality, kind_of
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.ways import find_estimate_of, find_first, list_chosen
from lens_engine.show.words import (
    ALWAYS_THE_LARGEST,
    name_contender,
    say_largest_class,
    show_accuracy,
    show_f1,
    show_figure,
    show_with_range,
)

_LEAST_ANSWERED = 0.45
"""Least share of the rows in the table of what is right above a threshold."""

_Column = tuple[str, Callable[[Contender], str]]


def list_figures(result: SelectionResult) -> list[Table]:
    """The contenders that were judged to the end, and the curve of the classifier to use."""
    return [*filter(None, (tabulate_contenders(result), tabulate_answered(result)))]


def tabulate_contenders(result: SelectionResult) -> Table | None:
    """Every way to answer that was not dropped: how often it is right, and what it costs; None without any."""
    listed = [one for one in result.contenders if not one.is_dropped]
    if not listed:
        return None
    columns, chosen = _list_columns(result), list_chosen(result)
    rows = [(name_contender(one), *(show(one) for _, show in columns)) for one in listed]
    first = (find_first(result) or listed[0]).judged
    if first is not None and first.largest_class is not None:
        share, nothing = show_share(first.largest_class, first.n), [NOTHING] * (len(columns) - 1)
        rows.append((ALWAYS_THE_LARGEST, share, *nothing))
    left_out = len(result.contenders) - len(listed)
    about = [f"{show_count(left_out, 'other', 'was')} judged on a part of the rows alone"] if left_out else []
    return Table(
        title="Every way to answer, on labelled rows",
        header=("", *(name for name, _ in columns)),
        rows=tuple(rows),
        marked=frozenset(place for place, one in enumerate(listed) if one in chosen),
        caption="; ".join(["in brackets: 95 % range; the best of many is a little too high", *about]),
    )


def _list_columns(result: SelectionResult) -> list[_Column]:
    """The figures that some contender has."""
    columns: list[_Column] = [("right answers", lambda one: show_with_range(one.judged))]
    if result.objective == "macro_f1":
        columns.append(("macro\nF1", lambda one: show_f1(None if one.judged is None else one.judged.macro_f1)))
    columns.append(("rows", lambda one: NOTHING if one.judged is None else f"{one.judged.n:,}"))
    if any(one.test for one in result.contenders):
        columns.append(("test texts", lambda one: show_with_range(one.test)))
    elif any(find_estimate_of(result, one) for one in result.contenders):
        columns.append(("expected of\nnew texts", lambda one: show_with_range(find_estimate_of(result, one))))
    columns.append(("tokens\na text", lambda one: f"{one.tokens:,.0f}"))
    columns.append(("tokens\nheld", lambda one: f"{one.tokens_held:,.0f}"))
    if any(one.usd is not None for one in result.contenders):
        columns.append(("1,000 texts", lambda one: NOTHING if one.usd is None else describe_usd(one.usd)))
    return columns


def tabulate_answered(result: SelectionResult) -> Table | None:
    """Accuracy of the classifier to use against the share that it answers; None without one."""
    chosen = find_chosen(result)
    own = None if chosen is None else find_quality(result, kind_of(chosen))
    if chosen is None or own is None:
        return None
    return tabulate_shares("classifier", own, show_count(own.n, "row" if chosen.test is None else "test text"))


def tabulate_shares(of: str, figure: Quality, rows: str) -> Table | None:
    """The beginning of the curve of accuracy against the share answered; None where all probabilities are equal."""
    shown = [one for one in figure.shares_answered if one.share >= _LEAST_ANSWERED]
    if len(shown) < 2:
        return None
    return Table(
        title=f"Leave doubtful texts to a person: {of}, on {rows}",
        header=("answered", "right answers\namong these", "threshold"),
        rows=tuple(
            (show_share(one.share, 100), show_right(one.accuracy, round(one.share * figure.n)), f"{one.threshold:.4f}")
            for one in shown
        ),
        caption="; ".join([*say_largest_class(figure), "answer_above (--answer-above) leaves the others empty"]),
    )


_MOST_CONFUSED = 10
"""Largest number of labels whose confusions are shown."""

_MOST_CHARACTERS = 16
"""Longest name of a label in the header of the confusions (characters)."""


def name_evaluation(result: EvaluationResult, judged: str) -> str:
    """What was judged, and of which model."""
    return judged if result.model is None else f"{judged}, asked of {result.model.model}"


def list_evaluation_tables(result: EvaluationResult) -> list[Table]:
    """The figures, the confusions of few labels, and what is right above a threshold."""
    confusions = [_tabulate_confusions(result)] if len(result.labels) <= _MOST_CONFUSED else []
    of = "classifier" if result.model is None else "model"
    shares = tabulate_shares(of, result.quality, show_count(result.quality.n, "row"))
    return [_tabulate_quality(result), *confusions, *filter(None, [shares])]


def _tabulate_quality(result: EvaluationResult) -> Table:
    found = result.quality
    rows = [
        ("right answers", show_accuracy(found), f"{_show_range(found.ci95, show_percent)} %"),
        ("macro-F1", show_f1(found.macro_f1), _show_range(found.macro_f1_ci95, show_f1)),
        ("log-loss", show_figure(found.log_loss), _show_range(found.log_loss_ci95, show_figure)),
        ("ECE", show_figure(found.ece), _show_range(found.ece_ci95, show_figure)),
    ]
    if found.largest_class is not None and found.largest_class_macro_f1 is not None:
        rows.insert(1, (ALWAYS_THE_LARGEST, show_share(found.largest_class, found.n), NOTHING))
        rows.insert(3, (ALWAYS_THE_LARGEST, show_f1(found.largest_class_macro_f1), NOTHING))
    return Table(
        title=f"{show_count(found.n, 'row')}, {result.unanswered:,} unanswered",
        header=("", "figure", "95 % range"),
        rows=tuple(rows),
        caption="ECE: expected calibration error",
    )


def _show_range(ends: tuple[float, float], show: Callable[[float], str]) -> str:
    low, high = ends
    return f"{show(low)}–{show(high)}"


def _tabulate_confusions(result: EvaluationResult) -> Table:
    names = [shorten(label, _MOST_CHARACTERS) for label in result.labels]
    return Table(
        title="Rows by label and answer",
        header=("label / answer", *names),
        rows=tuple((name, *map(str, counts)) for name, counts in zip(names, result.confusion, strict=True)),
        words=("label / answer",),
    )
