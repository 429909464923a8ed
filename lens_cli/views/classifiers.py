"""The tested classifiers of a selection as a table, and the frontier of the ensemble's sizes."""

from dataclasses import dataclass, replace

from rich import box
from rich.table import Table

from lens_engine.classifier.tested import TestedClassifier
from lens_engine.result import SelectionResult

_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, as text."""

    name: str
    accuracy: str
    interval: str
    n: str
    macro_f1: str = _NOTHING
    log_loss: str = _NOTHING
    ece: str = _NOTHING
    tokens: str = _NOTHING


def build_classifiers_table(result: SelectionResult) -> Table:
    table = _table("Accuracy on the test rows")
    table.caption = (
        "interval in brackets: lowest and highest accuracy of several permutations; ECE: expected calibration error; "
        "tokens: of all prompts for one input"
    )
    table.caption_justify = "left"
    table.add_column("")
    # Headers of two lines and figures that never wrap keep the table readable in 80 columns.
    for header in ("accuracy", "95 %\ninterval", "macro\nF1", "log-\nloss", "ECE", "tokens", "n"):
        table.add_column(header, justify="right", no_wrap=True)
    for index, row in enumerate(list_rows(result)):
        cells = (row.name, row.accuracy, row.interval, row.macro_f1, row.log_loss, row.ece, row.tokens, row.n)
        table.add_row(*cells, style="bold green" if index == 0 else None)
    return table


def build_frontier_table(result: SelectionResult) -> Table | None:
    """The ensemble at every size; None if there is only one size."""
    ensemble = next((one for one in result.tested if one.name == "ensemble"), None)
    if ensemble is None or len(result.frontier) < 2:
        return None
    table = _table("Frontier: more prompts, more tokens")
    for header in ("k", "head", "tokens an input", "accuracy", "log-loss"):
        table.add_column(header, justify="left" if header == "head" else "right", no_wrap=True)
    for point in result.frontier:
        figures = (f"{point.tokens_per_input:,.0f}", f"{point.test.accuracy:.3f}", f"{point.test.log_loss:.3f}")
        is_proposed = point.size == ensemble.size
        table.add_row(str(point.size), point.head, *figures, style="bold green" if is_proposed else None)
    return table


def list_rows(result: SelectionResult) -> list[Row]:
    """The ensemble first, then the support examples, then the rivals."""
    rows = [_tested(_name(one, result), one) for one in result.tested]
    for name, spread in (("random", result.random), ("other orders", result.order)):
        if spread is not None:  # a range instead of an interval; n counts rows, not permutations
            interval = f"({spread.min:.2f}–{spread.max:.2f})"
            title = f"{name}, mean of {spread.permutations}"
            rows.append(Row(title, f"{spread.mean:.3f}", interval, str(spread.n)))
    return rows


def name_choice(result: SelectionResult) -> str:
    """Name of the chosen demonstrations. Only those of LENS are called support examples."""
    method = str(result.provenance.config.get("method", "lens"))
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt"}
    return names.get(method, f"{method.replace('_', '-')} examples")


def _name(one: TestedClassifier, result: SelectionResult) -> str:
    best = result.random_and_validation
    prompts = f"{_count(one.size, 'prompt')}, {one.head}"
    return {
        "ensemble": f"ensemble, {prompts}",
        "support_examples": f"{name_choice(result)}, {prompts}",
        "zero_shot": f"zero-shot, {one.head}",
        "zero_shot_head": f"zero-shot, {one.head}",
        "random_and_validation": f"random-and-validation, best of {best.permutations if best else 1}",
        "random_ensemble": f"random ensemble, {prompts}",
        "random_prompts": f"no search, random, {prompts}",
        "long_prompt": f"long prompt, {_count(one.demonstrations, 'example')}, {one.head}",
        "bag_of_words": f"bag of words, {_count(one.fit_rows, 'labelled row')}",
    }[one.name]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _tested(name: str, one: TestedClassifier) -> Row:
    """Probabilities of a head that was fitted have a log-loss and a calibration error worth reading."""
    test = one.test
    low, high = test.ci95
    macro_f1 = _NOTHING if test.macro_f1 is None else f"{test.macro_f1:.3f}"
    row = Row(name, f"{test.accuracy:.3f}", f"{low:.3f}–{high:.3f}", str(test.n), macro_f1)
    if not one.fit_rows:
        return row
    tokens = f"{one.tokens_per_input:,.0f}"
    return replace(row, log_loss=f"{test.log_loss:.3f}", ece=f"{test.ece:.3f}", tokens=tokens)


def _table(title: str) -> Table:
    look = {"title_justify": "left", "title_style": "bold", "show_edge": False, "padding": (0, 1, 0, 0)}
    return Table(title=title, box=box.SIMPLE_HEAD, **look)  # type: ignore[arg-type]
