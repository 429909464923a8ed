"""A suggestion for a person to read, and the command that carries it out."""

import os
import shlex

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.asked_model import ChosenModel
from lens_cli.refusals import show_note
from lens_cli.select.sources import Sources
from lens_cli.select.words import note_silent_words
from lens_cli.views.result import draw_table
from lens_engine.files.table import LABEL, TEXT, list_columns
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.prompt.language import describe_language
from lens_engine.prompt.text_checks import show_names
from lens_engine.prompt.verbalizer import find_silent
from lens_engine.prompt.wording import show_label
from lens_engine.run.suggest import Suggestion
from lens_engine.show.estimate import describe_presets, tabulate_presets
from lens_engine.show.sentences import describe_asking

_MAX_LABELS = 20
_SHOWN = ("columns other than", "the label words", "read texts from", "read labels from", "the file is read as a")
"""Beginnings of warnings that the view shows itself."""


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
    if suggestion.language is not None:
        _say(console, f"texts   {describe_language(suggestion.language, is_bundled=model == BUNDLED_MODEL)}")
    for warning in suggestion.warnings:
        if not warning.startswith(_SHOWN):
            show_note(warning, console)


def _show_labels(suggestion: Suggestion, console: Console) -> None:
    verbalizer = suggestion.problem.task.verbalizer
    words, silent = verbalizer.words, find_silent(verbalizer)
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
            word = Text(words[count.label], style="yellow" if count.label in silent else "")
        shown = show_label(count.label)  # with quotes where they show spaces
        table.add_row(Text(shown if shown[1:-1] != count.label.strip() else count.label), f"{count.rows:,}", word)
    _head(console, f"Labels ({suggestion.num_labels:,})")
    console.print(table)
    if len(suggestion.labels) > _MAX_LABELS:
        _say(console, f"and {len(suggestion.labels) - _MAX_LABELS:,} more labels")
    for note in note_silent_words(verbalizer.without({count.read_as for count in suggestion.labels if count.is_rare})):
        show_note(note, console)


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
    table = tabulate_presets(plans)
    _head(console, table.title)
    if table.rows:
        console.print(draw_table(table, title=None, pad_edge=False))
    for sentence in describe_presets(plans, suggestion.sample):
        _say(console, sentence)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if is_here and load > cores and any(plan.seconds is not None for plan in plans):
        show_note(f"the machine is busy (load {load:.1f} on {cores} cores), and slower than when it is idle", console)
    for warning in plans[0].warnings:
        show_note(f"{plans[0].preset}: {warning}", console)


def _head(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))


def _say(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)


_MAX_WORDS = 20
"""Largest number of label words in the command. Without them, each label is its own word all the same, also a rare one
that the selection leaves out. Words that say nothing are not proposed: a person gives others."""

_BUNDLED = ChosenModel(BUNDLED_MODEL)

_CONTINUED = " \\\n  "


def write_command(suggestion: Suggestion, sources: Sources, model: ChosenModel = _BUNDLED) -> str:
    """The complete command, quoted for a shell, with a line for each group of arguments."""
    train, columns = ["lens", "select", str(sources.train)], list[str]()
    words, found = suggestion.problem.task.verbalizer.words, suggestion.columns
    assert found is not None  # of a file
    if sources.test is not None:
        train += ["--test", str(sources.test)]
    assert found.label is not None
    if found.text.wanted != TEXT and found.text.is_told:
        columns += [word for name in list_columns(found.text.wanted) for word in ("--text-column", name)]
    if found.label.wanted != LABEL and found.label.is_told:
        columns += ["--label-column", found.label.name]
    if sources.dialect.delimiter is not None:
        columns += ["--delimiter", sources.dialect.delimiter.replace("\t", "tab")]
    if sources.dialect.encoding is not None:
        columns += ["--encoding", sources.dialect.encoding]
    lines = list[list[str]]()
    has_rare = any(count.is_rare for count in suggestion.labels)
    if not has_rare and len(words) <= _MAX_WORDS and not find_silent(suggestion.problem.task.verbalizer):
        lines += [["--verbalizer", f"{label}={word}"] for label, word in words.items()]
    if suggestion.label_options.rare == "drop":
        lines.append(["--option", "labels.rare=drop"])
    if 10 * suggestion.num_unlabelled > suggestion.num_rows:
        lines.append(["--option", "rows.unlabelled=skip"])
    if model != _BUNDLED:
        lines.append(model.list_arguments())
    lines.append(
        ["--preset", suggestion.preset or "quick", "--output", "result.json", "--classifier", "classifier.json"]
    )
    wordings = [f"--template {quote_template(one)}" for one in suggestion.templates]
    wordings += [f"--instruction {quote_template(one)}" for one in ("", *suggestion.instructions)]
    head, tail = ([shlex.join(line) for line in part if line] for part in ([train, columns], lines))
    return _CONTINUED.join([*head, *wordings, *tail])


def quote_template(template: str) -> str:
    """The template or instruction as an argument for bash or zsh, on one line."""
    return f"${template!r}" if "\n" in template else shlex.quote(template)
