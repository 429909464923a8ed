"""Results and evaluations on a terminal: what `lens_engine.show` writes, with colours."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.refusals import show_note
from lens_engine.prompt.wording import show_count
from lens_engine.result import Contender, SelectionResult
from lens_engine.result.parts import EvaluationResult
from lens_engine.show.sentences import describe_asking, describe_cost, describe_retrieval, describe_suspicious_labels
from lens_engine.show.table import Table as EngineTable
from lens_engine.show.tables import list_evaluation_tables, list_figures, list_shown, name_evaluation, tabulate_examples
from lens_engine.show.verdict import say_rest
from lens_engine.show.ways import explain_marks, list_ways
from lens_engine.show.words import show_accuracy
from lens_engine.types import Example

_MOST_SUSPICIOUS = 5  #: number of suspicious labels that are printed
_MOST_NOTES = 3  #: number of warnings in a summary
NARROW: dict[str, Any] = {"show_edge": False, "padding": (0, 1, 0, 0)}  #: look of a table that needs the width
_BAR = 10  #: width of a bar for 100 %: a line fits a terminal of 80 characters


def draw_table(table: EngineTable, **look: Any) -> Table:
    """The table as Rich prints it, with these arguments of its own. Markup in a cell is shown as it is."""
    usual: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "caption_justify": "left"}
    usual |= {"title": table.title, "caption": table.caption or None, "show_footer": bool(table.footer)}
    drawn = Table(box=box.SIMPLE_HEAD, **(usual | look))
    footer = table.footer or ("",) * len(table.header)
    for name, last, is_left in zip(table.header, footer, table.is_left, strict=True):
        drawn.add_column(name, last, justify="left" if is_left else "right", no_wrap=not is_left)
    for place, row in enumerate(table.rows):
        drawn.add_row(*map(Text, row), style="bold green" if place in table.marked else None)
    return drawn


def _say_needs(one: Contender | None) -> str:
    if one is None:
        return ""
    known = {"bag_of_words": "no model", "embeddings": "a small encoder"}
    return known.get(one.method, f"{'weights, ' * (one.kind == 'classifier')}{one.tokens:,.0f} tokens")


def show_summary(result: SelectionResult, console: Console, shown: Collection[str] = ()) -> None:
    """Print what to use and what to expect of it, a bar for each way to answer, and the cost; some 20 lines."""
    console.print(Text(result.verdict.sentence, style="bold"), "", draw_ways(result), "", sep="\n")
    notes = [warning for warning in result.warnings if warning not in shown]
    for warning in notes[:_MOST_NOTES]:
        show_note(warning, console)
    if (more := len(notes) - _MOST_NOTES) > 0:
        console.print(f"{show_count(more, 'more note')} with --verbose")
    console.print(Text(describe_cost(result), style="dim"))


def draw_ways(result: SelectionResult) -> Table:
    """A bar for each way to answer; what to use is marked."""
    ways = list_ways(result)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    tested = result.is_tested
    table.caption, table.caption_justify = "\n".join(explain_marks(ways)) or None, "left"
    table.add_column(f"right of {ways[0].figure.n:,} test texts" if tested and ways else "expected of new texts")
    for name in ("right", "", "each text adds"):
        table.add_column(name, justify="right" if name == "right" else "left", no_wrap=True)
    for way in ways:
        one, bar = way.figure, "█" * round(_BAR * way.figure.accuracy)
        right = f"{round(one.accuracy * one.n):,}  {show_accuracy(one)}" if tested else show_accuracy(one)
        table.add_row(way.title, right, bar, _say_needs(way.contender), style="bold green" if way.is_first else None)
    return table


def show_result(result: SelectionResult, console: Console, shown: Collection[str] = ()) -> None:
    """Print the complete result, without the warnings that were shown before."""
    for table in (*draw_examples(result), *(draw_table(one, **NARROW) for one in list_figures(result))):
        console.print(table)
        console.print()
    console.print(Text(result.verdict.sentence, style="bold"))
    found = (describe_retrieval(result, result.answer), describe_asking(result.task))
    about = (" ".join(say_rest(result)), *found)
    for sentence in filter(None, about):
        console.print(sentence, markup=False)
    for warning in result.warnings:
        if warning not in shown:
            show_note(warning, console)
    console.print(Text(describe_cost(result), style="dim"))
    console.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def draw_examples(result: SelectionResult) -> list[Table]:
    """The fixed demonstrations; their texts take the width that is left."""
    tables = list[Table]()
    for answer, is_other in list_shown(result.answer):
        table = draw_table(tabulate_examples(answer, is_other=is_other), expand=True)
        table.columns[1].ratio = 1  # the texts
        table.columns[2].no_wrap = True
        tables.append(table)
    return tables


def show_suspicious_labels(result: SelectionResult, examples: Sequence[Example], console: Console) -> None:
    """Print how many labels are suspicious, and the first of them."""
    if not result.suspicious_labels:
        return
    by_row = {example.row: example for example in examples}
    console.print(Text(f"{describe_suspicious_labels(result)} --suspicious FILE writes them with their texts:"))
    for one in result.suspicious_labels[:_MOST_SUSPICIOUS]:
        place = by_row[one.row].place
        console.print(Text(f"  {place}: {one.label}, probably {one.likelier} ({one.probability_of_likelier:.0%})"))


def show_evaluation(result: EvaluationResult, name: str, output: Path | None, console: Console) -> None:
    """Print an evaluation of `name`, and the file that holds its figures."""
    console.print(Text(name_evaluation(result, name), style="bold"), soft_wrap=True)
    for table in list_evaluation_tables(result):
        console.print(draw_table(table, **NARROW))
        console.print()
    for warning in result.warnings:
        show_note(warning, console)
    if output is not None:
        console.print(Text(f"figures in {output}"), soft_wrap=True)
