"""An evaluation as tables and sentences."""

from collections.abc import Callable

from lens_engine.prompt.wording import shorten, show_count, show_percent, show_share
from lens_engine.result.parts import EvaluationResult, PairedComparison
from lens_engine.show.figures import tabulate_shares
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import ALWAYS_THE_LARGEST, show_accuracy, show_f1, show_figure

_MOST_LABELS = 10
"""Largest number of labels whose confusions are shown."""

_MOST_CHARACTERS = 16
"""Longest name of a label in the header of the confusions (characters)."""


def name_evaluation(result: EvaluationResult, judged: str) -> str:
    """What was judged, and of which model."""
    return judged if result.model is None else f"{judged}, asked of {result.model.model}"


def list_evaluation_tables(result: EvaluationResult) -> list[Table]:
    """The figures, the confusions of few labels, and what is right above a threshold."""
    confusions = [_tabulate_confusions(result)] if len(result.labels) <= _MOST_LABELS else []
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


def describe_evaluation(result: EvaluationResult) -> list[str]:
    """The comparison with the selection, if there is one."""
    return [] if result.comparison is None else [_describe_comparison(result.comparison)]


def _describe_comparison(found: PairedComparison) -> str:
    if found.same_answers == found.n:
        return f"On {show_count(found.n, 'row')} that the selection judged too, every answer is the same."
    return (
        f"On {show_count(found.n, 'row')} that the selection judged too, {found.same_answers:,} answers are the same; "
        f"this evaluation alone is right on {found.only_evaluation_right:,}, the selection alone was on "
        f"{found.only_selection_right:,} (exact McNemar test: p = {found.p_value:.2g}). Macro-F1 differs by "
        f"{found.macro_f1:+.2f} (standard error {found.macro_f1_error:.2f})."
    )
