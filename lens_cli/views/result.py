"""A result as text and tables: support examples, prompts, classifiers, what to use, cost."""

from collections.abc import Collection

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.views.classifiers import build_classifiers_table, build_prompts_table, name_choice
from lens_cli.views.progress import describe_seconds
from lens_engine.result import SelectionResult

_NOTHING = "–"
_WHY_NOT = {"bag_of_words": ": a bag of words, which needs no language model, is more often right"}
_ASK_ONLY = " where the classifier can be used: it is more often right"


def show_result(result: SelectionResult, console: Console, shown: Collection[str] = ()) -> None:
    """Print the complete result, without the warnings that were shown before."""
    if result.answer.best is not None and not result.answer.recommended:
        why = _WHY_NOT.get(result.answer.best.name, _ASK_ONLY)
        console.print(f"The {name_choice(result)} below are not recommended{why}.", style="yellow")
        console.print()
    for table in (build_examples_table(result), build_prompts_table(result), build_classifiers_table(result)):
        if table is not None:
            console.print(table)
            console.print()
    console.print(describe_choice(result), style="bold")
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


def describe_choice(result: SelectionResult) -> str:
    """Which classifier to use, and how good the prompt is; for a run that was stopped, after the reason."""
    return f"{result.verdict.sentence} {result.answer.reason}"


def describe_ranking_rows(result: SelectionResult) -> str:
    """Accuracy on the rows that decided the choice. Test rows had no part in the choice."""
    judged, comparison = result.answer.judged, result.answer.comparison
    if judged is None:
        return ""
    text = f"The {name_choice(result)} reached {judged.accuracy:.3f} on the {judged.n} rows that decided (optimistic)."
    if comparison is None or result.answer.method == "random_and_validation":
        return text
    return f"{text} Against random-and-validation: p = {comparison.p_value:.2g} (exact McNemar test on the test rows)."


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
