"""Captions of findings: what was run, on which data, and how uncertain an accuracy is."""

from collections.abc import Iterable, Sequence

from experiments.laboratory.cells import SelectionCell
from lens_engine.classifier.quality import Accuracy


def describe_cells(cells: Sequence[SelectionCell]) -> str:
    """Model, datasets, templates and seeds, as part of a sentence."""
    benches = [cell.bench for cell in cells]
    models = _list(name_model(bench.model) for bench in benches)
    datasets = _list(f"{bench.dataset} (`{bench.template}`)" for bench in benches)
    seeds = list(dict.fromkeys(bench.seed for bench in benches))
    noun = "seed" if len(seeds) == 1 else "seeds"
    return f"{models} on {datasets}, {noun} {_list(map(str, seeds))}"


def describe_rows(accuracies: Sequence[Accuracy]) -> str:
    """A sentence on the uncertainty of an accuracy on the fewest test rows."""
    least = min(accuracies, key=lambda one: one.n)
    widest = max((one.ci95[1] - one.ci95[0]) / 2 for one in accuracies if one.n == least.n)
    return f"An accuracy on {least.n} test rows is uncertain by up to ±{widest:.2f} (Wilson's 95 % interval)."


def name_model(reference: str) -> str:
    """The last part of a path or of a hub id."""
    return reference.rstrip("/").rpartition("/")[2] or reference


def datasets_of(cells: Sequence[SelectionCell]) -> dict[str, list[SelectionCell]]:
    """The cells of each dataset, in the order given."""
    groups: dict[str, list[SelectionCell]] = {}
    for cell in cells:
        groups.setdefault(cell.bench.dataset, []).append(cell)
    return groups


def _list(items: Iterable[str]) -> str:
    """Each item once, with "and" before the last."""
    *others, last = dict.fromkeys(items)
    return f"{', '.join(others)} and {last}" if others else last
