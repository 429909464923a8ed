"""The figures of an evaluation for a person to read."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.views.table import NARROW, draw_table
from lens_engine.classifier.abstaining import tabulate_shares
from lens_engine.classifier.largest_class import ALWAYS_THE_LARGEST
from lens_engine.evaluation.measuring import EvaluationResult, PairedComparison
from lens_engine.task.wording import show_count
from lens_engine.views.table import NOTHING, Table, shorten

_MOST_LABELS = 10
"""Largest number of labels whose confusions are printed."""

_MOST_CHARACTERS = 16
"""Longest name of a label in the header of the confusions (characters)."""


def show_evaluation(result: EvaluationResult, name: str, output: Path | None, console: Console) -> None:
    """Print the figures, the confusions of few labels, what is right above a threshold, and two comparisons: with the
    selection, and with other orders.

    Args:
        name: what was judged.
        output: file that holds the figures.
    """
    model = "" if result.model is None else f", asked of {result.model.model}"
    form = "" if result.form is None else f" in the form {result.form}"
    console.print(Text(f"{name}{model}{form}", style="bold"), soft_wrap=True)
    tables = [_tabulate_quality(result)]
    if len(result.labels) <= _MOST_LABELS:
        tables.append(_tabulate_confusions(result))
    of = "classifier" if result.model is None else "model"
    shares = tabulate_shares(of, result.quality, show_count(result.quality.n, "row"))
    tables += [] if shares is None else [shares]
    for table in tables:
        console.print(draw_table(table, **NARROW))
        console.print()
    for sentence in _list_sentences(result):
        console.print(Text(sentence))
    for warning in result.warnings:
        console.print(Text.assemble(("note: ", "yellow"), warning))
    if output is not None:
        console.print(Text(f"figures in {output}"), soft_wrap=True)


def _tabulate_quality(result: EvaluationResult) -> Table:
    found = result.quality
    figures = (
        ("accuracy", found.accuracy, found.ci95),
        ("macro-F1", found.macro_f1, found.macro_f1_ci95),
        ("log-loss", found.log_loss, found.log_loss_ci95),
        ("ECE", found.ece, found.ece_ci95),
    )
    rows = [(what, f"{figure:.3f}", f"{low:.3f}–{high:.3f}") for what, figure, (low, high) in figures]
    if found.largest_class is not None and found.largest_class_macro_f1 is not None:
        rows.insert(1, (ALWAYS_THE_LARGEST, f"{found.largest_class:.3f}", NOTHING))
        rows.insert(3, (ALWAYS_THE_LARGEST, f"{found.largest_class_macro_f1:.3f}", NOTHING))
    return Table(
        title=f"{show_count(found.n, 'row')}, {result.unanswered:,} unanswered",
        header=("", "figure", "95 % interval"),
        rows=tuple(rows),
        caption="ECE: expected calibration error",
    )


def _tabulate_confusions(result: EvaluationResult) -> Table:
    names = [shorten(label, _MOST_CHARACTERS) for label in result.labels]
    return Table(
        title="Rows by label and answer",
        header=("label / answer", *names),
        rows=tuple((name, *map(str, counts)) for name, counts in zip(names, result.confusion, strict=True)),
        words=("label / answer",),
    )


def _list_sentences(result: EvaluationResult) -> list[str]:
    sentences = []
    if result.comparison is not None:
        sentences.append(_describe_comparison(result.comparison))
    if result.order is not None:
        one = result.order
        sentences.append(
            f"{show_count(one.permutations, 'other order')}: accuracy {one.mean:.3f} on average, from {one.min:.3f} to "
            f"{one.max:.3f} (standard deviation {one.sd:.3f})."
        )
    return sentences


def _describe_comparison(found: PairedComparison) -> str:
    if found.same_answers == found.n:
        return f"On {show_count(found.n, 'row')} that the selection judged too, every answer is the same."
    return (
        f"On {show_count(found.n, 'row')} that the selection judged too, {found.same_answers:,} answers are the same; "
        f"this evaluation alone is right on {found.only_evaluation_right:,}, the selection alone was on "
        f"{found.only_selection_right:,} (exact McNemar test: p = {found.p_value:.2g}). Macro-F1 differs by "
        f"{found.macro_f1:+.3f} (standard error {found.macro_f1_error:.3f})."
    )
