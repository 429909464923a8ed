"""What is said of rows that were left out, or that hold what nobody sees."""

from collections.abc import Sequence

from lens_engine.reading.table import Fault
from lens_engine.task.text_checks import MAX_SHOWN
from lens_engine.task.wording import show_count


def describe_fault(fault: str, column: str) -> Fault:
    """The fault of a value, which completes a sentence after the name of its column."""
    return Fault(f"whose {column} {fault.partition(';')[0]}", fault, column)


def list_first(places: Sequence[str], number: int) -> str:
    """The first places of rows, and how many more there are."""
    more = f" and {number - len(places):,} more" if number > len(places) else ""
    return ", ".join(places) + more


def describe_invisible(kind: str, rows: Sequence[int]) -> str:
    """What to say of rows with characters that nobody sees."""
    first = ", ".join(map(str, rows[:MAX_SHOWN]))
    hold = "holds" if len(rows) == 1 else "hold"
    return (
        f"{show_count(len(rows), 'row')} {hold} {kind} characters, which are invisible; they are kept "
        f"(first rows: {first})"
    )
