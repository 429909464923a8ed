"""A result as text and tables: support examples, prompts, classifiers, what to use, cost."""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.views.table import NARROW, draw_table
from lens_engine.result import SelectionResult
from lens_engine.result.forms import describe_retrieval, list_shown
from lens_engine.result.summary import (
    describe_choice,
    describe_cost,
    describe_form,
    describe_ranking_rows,
    describe_suspicious_labels,
    list_figures,
    warn_of_examples,
)
from lens_engine.result.tables import tabulate_examples
from lens_engine.types import Example

_MOST_SUSPICIOUS = 5
"""Number of suspicious labels that are printed."""


def show_result(result: SelectionResult, console: Console, shown: Collection[str] = ()) -> None:
    """Print the complete result, without the warnings that were shown before."""
    if warning := warn_of_examples(result):
        console.print(warning, style="yellow")
        console.print()
    for table in (*draw_examples(result), *(draw_table(one, **NARROW) for one in list_figures(result))):
        console.print(table)
        console.print()
    console.print(describe_choice(result), style="bold")
    if retrieval := describe_retrieval(result, result.answer):
        console.print(retrieval)
    if ranking := describe_ranking_rows(result):
        console.print(ranking)
    if form := describe_form(result):
        console.print(Text(form))
    for warning in (one for one in result.warnings if one not in shown):
        console.print(Text.assemble(("note: ", "yellow"), warning))
    console.print(Text(describe_cost(result), style="dim"))
    console.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def draw_examples(result: SelectionResult) -> list[Table]:
    """The fixed demonstrations; their texts take the width that is left."""
    tables = list[Table]()
    for answer, is_other in list_shown(result.answer):
        table = draw_table(tabulate_examples(answer, is_other=is_other), expand=True)
        table.columns[2].no_wrap = True  # the label words
        table.columns[-1].ratio = 1
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
        console.print(Text(f"  {place}: {one.label}, likelier {one.likelier} ({one.probability_of_likelier:.2f})"))
