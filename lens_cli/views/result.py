"""A result as text and tables: support examples, accuracies, verdict, cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.views.progress import describe_seconds
from lens_engine.classifier.quality import Accuracy
from lens_engine.result import SelectionResult, Spread, Verdict
from lens_engine.types import StopReason

_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One line of the accuracy table, as text."""

    name: str
    accuracy: str
    interval: str
    calibrated: str
    macro_f1: str
    n: str


def show_result(result: SelectionResult, console: Console) -> None:
    """Print the complete result."""
    console.print(build_examples_table(result))
    console.print()
    console.print(build_accuracy_table(result))
    console.print()
    console.print(describe_verdict(result), style="bold")
    console.print(describe_ranking_rows(result))
    for warning in result.warnings:
        console.print(Text.assemble(("note: ", "yellow"), warning))
    console.print(Text(describe_cost(result), style="dim"))
    console.print(Text(f"digest {result.digest}", style="dim"), soft_wrap=True)


def name_choice(result: SelectionResult) -> str:
    """Name of the chosen demonstrations. Only those of LENS are called support examples."""
    method = str(result.provenance.config.get("method", "lens"))
    names = {"lens": "support examples", "zero_shot": "zero-shot prompt"}
    return names.get(method, f"{method.replace('_', '-')} examples")


def build_examples_table(result: SelectionResult) -> Table:
    name = name_choice(result)
    title = f"{name[0].upper()}{name[1:]}, in order" if result.examples else "No demonstrations: zero-shot"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, expand=True)
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


def build_accuracy_table(result: SelectionResult) -> Table:
    table = Table(
        title="Accuracy on the test rows",
        title_justify="left",
        title_style="bold",
        caption="in brackets: lowest and highest accuracy of several permutations",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("prompt")
    for name in ("accuracy", "95 % interval", "calibrated", "macro-F1", "n"):
        table.add_column(name, justify="right")
    for index, row in enumerate(list_accuracy_rows(result)):
        cells = (row.name, row.accuracy, row.interval, row.calibrated, row.macro_f1, row.n)
        table.add_row(*cells, style="bold green" if index == 0 else None)
    return table


def list_accuracy_rows(result: SelectionResult) -> list[AccuracyRow]:
    """The support examples first, then the baselines."""
    return list(_accuracy_rows(result))


def _accuracy_rows(result: SelectionResult) -> Iterator[AccuracyRow]:
    baselines = result.baselines
    if result.test is not None:
        yield _judged(name_choice(result), result.test)
    if baselines.zero_shot is not None:
        yield _judged("zero-shot", baselines.zero_shot)
    if baselines.random is not None:
        yield _spread(f"random, mean of {baselines.random.permutations}", baselines.random)
    rival = baselines.random_and_validation
    if rival is not None:
        yield _judged(f"random-and-validation, best of {rival.permutations}", rival.test)
    if result.order is not None:
        yield _spread(f"other orders, mean of {result.order.permutations}", result.order)


def _judged(name: str, accuracy: Accuracy) -> AccuracyRow:
    low, high = accuracy.ci95
    return AccuracyRow(
        name=name,
        accuracy=f"{accuracy.accuracy:.3f}",
        interval=f"{low:.3f}–{high:.3f}",
        calibrated=_show(accuracy.calibrated_accuracy),
        macro_f1=f"{accuracy.macro_f1:.3f}",
        n=str(accuracy.n),
    )


def _spread(name: str, spread: Spread) -> AccuracyRow:
    """Several permutations show a range instead of an interval. n counts rows, not permutations."""
    return AccuracyRow(
        name=name,
        accuracy=f"{spread.mean:.3f}±{spread.sd:.3f}",
        interval=f"({spread.min:.3f}–{spread.max:.3f})",
        calibrated=_show(spread.calibrated_mean),
        macro_f1=_NOTHING,
        n=str(spread.n),
    )


def _show(share: float | None) -> str:
    return _NOTHING if share is None else f"{share:.3f}"


def describe_verdict(result: SelectionResult) -> str:
    """One sentence that claims a difference only if it is significant."""
    if result.partial:
        reason = "the budget ran out" if result.stop_reason is StopReason.BUDGET else "the run was stopped"
        return f"Partial: {reason}; these are the best examples found until then. {_judge(result.verdict)}".rstrip()
    return _judge(result.verdict) or "Not compared with random-and-validation."


def _judge(verdict: Verdict | None) -> str:
    return "" if verdict is None else verdict.sentence


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
    found = f" ({cost.pairs_from_cache:,} from the pair cache)" if cost.pairs_from_cache else ""
    eliminated = f" ({cost.permutations_dropped:,} of them in part)" if cost.permutations_dropped else ""
    return (
        f"{cost.pairs:,} pairs{found}, {cost.tokens:,} tokens and "
        f"{cost.permutations_judged:,} permutations{eliminated} "
        f"in {describe_seconds(cost.seconds)}, by {origin.model} ({origin.dtype}, {origin.device}, seed {origin.seed})"
    )
