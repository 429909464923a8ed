"""A suggestion for a person to read."""

import os
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.endpoint_options import ChosenModel
from lens_cli.select.sources import Sources
from lens_cli.suggest.arguments import quote_template, write_command
from lens_cli.views.notes import show_note
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.metering.tables import describe_sample
from lens_engine.reading.table import list_columns
from lens_engine.suggestion.suggestion import PresetPlan, Suggestion
from lens_engine.task.language import describe_language
from lens_engine.task.record import describe_asking
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label
from lens_engine.views.table import describe_seconds, describe_usd

_MAX_LABELS = 20
_NOTHING = "–"
_SHOWN = ("columns other than", "the labels", "read texts from", "read labels from", "the file is read as a")
"""Beginnings of warnings of the reader that the view shows itself."""


def show_suggestion(suggestion: Suggestion, sources: Sources, console: Console, model: ChosenModel) -> None:
    """Print what was found, then what each preset would do, then the command."""
    _show_columns(suggestion, console, model.reference)
    _show_labels(suggestion, console)
    _show_templates(suggestion, console)
    _show_instructions(suggestion, console)
    _show_presets(suggestion, console, is_here=model.endpoint is None)
    if suggestion.advice is not None:
        _say(console, suggestion.advice)
    if suggestion.preset is not None:
        _head(console, "Command")
        console.print(Text(write_command(suggestion, sources, model)), soft_wrap=True)


def _show_columns(suggestion: Suggestion, console: Console, model: str) -> None:
    columns = suggestion.columns
    assert columns is not None  # of a file
    _head(console, "File")
    _say(console, f"rows    {suggestion.num_rows:,}")
    if columns.kind:
        _say(console, f"shape   {columns.kind}")
    for what, column in (("text ", columns.text), ("label", columns.label)):
        if column is not None:
            are = "column" if isinstance(column.wanted, str) else "columns"
            _say(console, f"{what}   {are} {show_names(list_columns(column.wanted))}: {column.reason}")
    if columns.others:
        _say(console, f"unused  {show_names(columns.others)}")
    if columns.possible_labels:
        _say(console, f"        could hold labels too: {show_names(columns.possible_labels)} (--label-column)")
    if suggestion.language is not None:
        _say(console, f"texts   {describe_language(suggestion.language, is_bundled=model == BUNDLED_MODEL)}")
    for warning in suggestion.warnings:
        if not warning.startswith(_SHOWN):
            show_note(warning, console)


def _show_labels(suggestion: Suggestion, console: Console) -> None:
    words = suggestion.problem.task.verbalizer.words
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("label")
    table.add_column("rows", justify="right")
    table.add_column("label word")
    for count in suggestion.labels[:_MAX_LABELS]:
        if count.is_rare:
            word = Text("too rare, left out", style="yellow")
        elif count.read_as != count.label:
            word = Text(f"as {show_label(count.read_as)}", style="yellow")
        else:
            word = Text(words[count.label])
        shown = show_label(count.label)  # with quotes where they show spaces
        table.add_row(Text(shown if shown[1:-1] != count.label.strip() else count.label), f"{count.rows:,}", word)
    _head(console, f"Labels ({len({count.read_as for count in suggestion.labels}):,})")
    console.print(table)
    if len(suggestion.labels) > _MAX_LABELS:
        _say(console, f"and {len(suggestion.labels) - _MAX_LABELS:,} more labels")


def _show_templates(suggestion: Suggestion, console: Console) -> None:
    _head(console, "Templates")
    for number, template in enumerate(suggestion.templates):
        _say(console, f"{'default' if number == 0 else 'or':<8}{quote_template(template)}")
    if suggestion.asked is not None and (form := describe_asking(suggestion.asked)):
        _say(console, form)


def _show_instructions(suggestion: Suggestion, console: Console) -> None:
    _head(console, "Instructions (--instruction; none by default)")
    for instruction in suggestion.instructions:
        _say(console, quote_template(instruction))
    number = 1 + len(suggestion.problem.alternatives)
    _say(console, f"The command tries each template with each of them and with none: {number} wordings.")


def _show_presets(suggestion: Suggestion, console: Console, *, is_here: bool) -> None:
    plans = suggestion.plans
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("rows of")
    for plan in plans:
        table.add_column(plan.preset, justify="right")
    names = next((list(plan.splits) for plan in plans if plan.splits is not None), [])
    for name in names:
        table.add_row(name, *(_NOTHING if plan.splits is None else f"{plan.splits[name]:,}" for plan in plans))
    if any(plan.cost is not None for plan in plans):
        table.add_section()
        table.add_row("tokens", *(_NOTHING if plan.cost is None else f"{plan.cost.tokens:,}" for plan in plans))
        for name, values in _list_bills(plans):
            table.add_row(name, *values)
        times = (_NOTHING if plan.seconds is None else describe_seconds(plan.seconds) for plan in plans)
        table.add_row("time", *times)
    _head(console, "Presets: rows in each split, and the most that a run costs")
    console.print(table)
    if any(plan.seconds is not None for plan in plans):
        _say(console, "The time is at the pace that was just measured on a small sample.")
        if suggestion.sample is not None and suggestion.sample.requests:
            _say(console, describe_sample(suggestion.sample, has_prices=any(_has_price(plan) for plan in plans)))
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if is_here and load > cores:
            show_note(
                f"the machine is busy (load {load:.1f} on {cores} cores), and slower than when it is idle", console
            )
    for plan in plans:
        if plan.refusal is not None:
            _say(console, f"{plan.preset} cannot be used: {plan.refusal}")
    for warning in plans[0].warnings:
        show_note(f"{plans[0].preset}: {warning}", console)


def _list_bills(plans: Sequence[PresetPlan]) -> Iterator[tuple[str, list[str]]]:
    """Rows of what a server is asked and paid; none for a model on this machine."""
    bills = [plan.bill for plan in plans]
    if any(bills):
        yield "requests", [_NOTHING if bill is None else f"{bill.requests:,}" for bill in bills]
        yield "tokens sent", [_NOTHING if bill is None else f"{bill.tokens:,}" for bill in bills]
    if any(map(_has_price, plans)):
        yield (
            "at most",
            [_NOTHING if bill is None or bill.usd is None else describe_usd(bill.usd) for bill in bills],
        )


def _has_price(plan: PresetPlan) -> bool:
    return plan.bill is not None and plan.bill.usd is not None


def _head(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))


def _say(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)
