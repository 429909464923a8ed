"""The contenders of a selection as a table, and the frontier of the classifier's sizes."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.table import Table

from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.result import Baselines, Rival, SelectionResult, Spread

_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class ContenderRow:
    """One line of the table, as text."""

    name: str
    accuracy: str
    interval: str
    n: str
    macro_f1: str = _NOTHING
    log_loss: str = _NOTHING
    ece: str = _NOTHING
    tokens: str = _NOTHING


def build_contenders_table(result: SelectionResult) -> Table:
    table = Table(
        title="Accuracy on the test rows",
        title_justify="left",
        title_style="bold",
        caption="interval in brackets: lowest and highest accuracy of several permutations; ECE: expected calibration "
        "error; tokens: of all prompts for one input",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("")
    # Headers of two lines and figures that never wrap keep the table readable in 80 columns.
    for header in ("accuracy", "95 %\ninterval", "macro\nF1", "log-\nloss", "ECE", "tokens", "n"):
        table.add_column(header, justify="right", no_wrap=True)
    for index, row in enumerate(list_contender_rows(result)):
        cells = (row.name, row.accuracy, row.interval, row.macro_f1, row.log_loss, row.ece, row.tokens, row.n)
        table.add_row(*cells, style="bold green" if index == 0 else None)
    return table


def build_frontier_table(result: SelectionResult) -> Table | None:
    """The classifier at every size; None if there is only one size."""
    report = result.classifier
    if report is None or len(report.frontier) < 2:
        return None
    table = Table(
        title="Frontier: more prompts, more tokens",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for header in ("k", "head", "tokens an input", "accuracy", "log-loss"):
        table.add_column(header, justify="left" if header == "head" else "right", no_wrap=True)
    for point in report.frontier:
        figures = (f"{point.tokens_per_input:,.0f}", f"{point.test.accuracy:.3f}", f"{point.test.log_loss:.3f}")
        is_proposed = point.size == report.size
        table.add_row(str(point.size), point.head, *figures, style="bold green" if is_proposed else None)
    return table


def list_contender_rows(result: SelectionResult) -> list[ContenderRow]:
    """The classifier first, then the support examples, then the rivals."""
    return [*_own_rows(result), *_rival_rows(result.baselines), *_other_orders(result)]


def name_choice(result: SelectionResult) -> str:
    """Name of the chosen demonstrations. Only those of LENS are called support examples."""
    method = str(result.provenance.config.get("method", "lens"))
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt"}
    return names.get(method, f"{method.replace('_', '-')} examples")


def _own_rows(result: SelectionResult) -> Iterator[ContenderRow]:
    report = result.classifier
    if report is not None:
        name = f"classifier, {_count(report.size, 'prompt')}, {report.head}"
        yield _qualified(name, report.test, report.tokens_per_input)
    if result.test is not None:
        yield _judged(f"{name_choice(result)}, 1 prompt, argmax", result.test)


def _rival_rows(baselines: Baselines) -> Iterator[ContenderRow]:
    if baselines.zero_shot is not None:
        yield _judged("zero-shot, argmax", baselines.zero_shot)
    if baselines.zero_shot_head is not None:
        yield _rival(f"zero-shot, {baselines.zero_shot_head.head}", baselines.zero_shot_head)
    if baselines.random is not None:
        yield _spread(f"random, mean of {baselines.random.permutations}", baselines.random)
    best = baselines.random_and_validation
    if best is not None:
        yield _judged(f"random-and-validation, best of {best.permutations}", best.test)
    if baselines.random_ensemble is not None:
        yield _rival(_name_prompts("random ensemble", baselines.random_ensemble), baselines.random_ensemble)
    if baselines.random_prompts is not None:
        yield _rival(_name_prompts("no search, random", baselines.random_prompts), baselines.random_prompts)
    if baselines.long_prompt is not None:
        long = baselines.long_prompt
        yield _rival(f"long prompt, {_count(long.demonstrations, 'example')}, {long.head}", long)
    if baselines.bag_of_words is not None:
        words = baselines.bag_of_words
        yield _qualified(f"bag of words, {_count(words.labelled_rows, 'labelled row')}", words, 0.0)


def _other_orders(result: SelectionResult) -> Iterator[ContenderRow]:
    if result.order is not None:
        yield _spread(f"other orders, mean of {result.order.permutations}", result.order)


def _name_prompts(opening: str, rival: Rival) -> str:
    return f"{opening}, {_count(rival.size, 'prompt')}, {rival.head}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _rival(name: str, rival: Rival) -> ContenderRow:
    return _qualified(name, rival, rival.tokens_per_input)


def _qualified(name: str, quality: Quality, tokens: float) -> ContenderRow:
    """Class probabilities have a log-loss and a calibration error."""
    return _judged(name, quality, log_loss=f"{quality.log_loss:.3f}", ece=f"{quality.ece:.3f}", tokens=f"{tokens:,.0f}")


def _judged(name: str, accuracy: Accuracy, **more: str) -> ContenderRow:
    low, high = accuracy.ci95
    return ContenderRow(
        name=name,
        accuracy=f"{accuracy.accuracy:.3f}",
        interval=f"{low:.3f}–{high:.3f}",
        n=str(accuracy.n),
        macro_f1=_NOTHING if accuracy.macro_f1 is None else f"{accuracy.macro_f1:.3f}",
        **more,
    )


def _spread(name: str, spread: Spread) -> ContenderRow:
    """Several permutations show a range instead of an interval. n counts rows, not permutations."""
    return ContenderRow(
        name=name,
        accuracy=f"{spread.mean:.3f}",
        interval=f"({spread.min:.2f}–{spread.max:.2f})",
        n=str(spread.n),
    )
