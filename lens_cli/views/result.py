"""A result as text and tables: support examples, accuracies, frontier, verdict, cost."""

from collections.abc import Collection

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.views.classifiers import build_classifiers_table, build_frontier_table, name_choice
from lens_cli.views.progress import describe_seconds
from lens_engine.result import SelectionResult
from lens_engine.run.wording import say_partial

_NOTHING = "–"


def show_result(result: SelectionResult, console: Console, shown: Collection[str] = ()) -> None:
    """Print the complete result, without the warnings that were shown before."""
    tables = (build_examples_table(result), build_classifiers_table(result), build_frontier_table(result))
    for table in tables:
        if table is not None:
            console.print(table)
            console.print()
    console.print(describe_verdict(result), style="bold")
    if result.verdict is not None and "(p = " in result.verdict.sentence:
        console.print("p: exact McNemar test on the test rows, against the ensemble.")
    if ranking := describe_ranking_rows(result):
        console.print(ranking)
    for warning in (one for one in result.warnings if one not in shown):
        console.print(Text.assemble(("note: ", "yellow"), warning))
    console.print(Text(describe_cost(result), style="dim"))
    console.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def build_examples_table(result: SelectionResult) -> Table:
    name = name_choice(result)
    title = f"{name[0].upper()}{name[1:]}, in order" if result.examples else "No demonstrations: zero-shot"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, expand=True)
    if any(example.info_score is not None for example in result.examples):
        table.caption = "InfoScore: how much the example helps alone; many hinder alone (below zero)"
        table.caption_justify = "left"
    table.add_column("#", justify="right")
    table.add_column("row", justify="right")
    table.add_column("label word", no_wrap=True)
    table.add_column("InfoScore", justify="right")
    table.add_column("text", ratio=1)
    for example in result.examples:
        score = _NOTHING if example.info_score is None else f"{example.info_score:+.4f}"
        word = Text(example.label_word)
        table.add_row(str(example.position + 1), str(example.row), word, score, Text(example.text))
    return table


def describe_verdict(result: SelectionResult) -> str:
    """What to use; for a run that was stopped, after the reason."""
    if result.verdict is not None:
        return result.verdict.sentence
    return say_partial(result.stop_reason) or "Not compared: no ensemble was tested."


def describe_ranking_rows(result: SelectionResult) -> str:
    """Accuracies on the rows that decided the choice. Test rows had no part in the choice."""
    parts = []
    if result.validation is not None:
        optimistic = "optimistic: the maximum over all permutations searched"
        parts.append(f"{result.validation.accuracy:.3f} on the {result.validation.n} validation rows ({optimistic})")
    if result.confirmation is not None:
        parts.append(f"{result.confirmation.accuracy:.3f} on {result.confirmation.n} confirmation rows")
    return f"The {name_choice(result)} reached {' and '.join(parts)}." if parts else ""


def describe_cost(result: SelectionResult) -> str:
    cost, origin = result.cost, result.provenance
    device = origin.device_name or origin.device
    found = f" ({cost.pairs_from_cache:,} from the pair cache)" if cost.pairs_from_cache else ""
    eliminated = f" ({cost.permutations_dropped:,} of them in part)" if cost.permutations_dropped else ""
    return (
        f"{cost.pairs:,} pairs{found}, {cost.tokens:,} tokens and "
        f"{cost.permutations_judged:,} permutations{eliminated} "
        f"in {describe_seconds(cost.seconds)}, by {origin.model} ({origin.dtype}, {device}, seed {origin.seed})"
    )
