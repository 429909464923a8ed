"""How much do the hyper-parameters matter? rho, m, lambda and B, one varied at a time, as Li & Qiu (2023) do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows, title_panel
from experiments.findings.finding import Finding, Plot, Table, Value
from experiments.findings.spreads import mean, sample_sd, show_rows
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import Group, Panel, plot_strips
from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.presets import resolve_config
from lens_engine.result import Accuracy, SelectionResult

TITLE = "How much do the hyper-parameters matter?"
RHO, KEEP, WEIGHT, BEAM = "filtering.rho", "filtering.keep", "search.diversity_weight", "search.beam_width"
SYMBOLS = {RHO: "rho", KEEP: "m", WEIGHT: "lambda", BEAM: "B"}
"""Option to the paper's letter, in the order of the panels."""
_UNCHANGED, _CHANGED = "no option changed", "one option changed"

_VALUES: Mapping[str, tuple[float, ...]] = {RHO: (1.5, 4.0), KEEP: (32, 128), WEIGHT: (0.0, 3.0), BEAM: (2, 8)}


@dataclass(frozen=True, slots=True)
class HyperparametersPlan:
    """Each selection as it is, and with each of these values in the place of its own."""

    selections: tuple[SelectionCell, ...]
    values: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: _VALUES)


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of one option on one dataset, over all its seeds."""

    dataset: str
    option: str
    value: float
    is_own: bool  #: the value that the selections have without a change
    results: tuple[SelectionResult, ...]

    @property
    def tests(self) -> tuple[Accuracy, ...]:
        return tuple(result.test for result in self.results if result.test is not None)

    @property
    def accuracies(self) -> tuple[float, ...]:
        return tuple(test.accuracy for test in self.tests)

    def as_group(self) -> Group:
        return Group(f"{self.value:.3g}", _UNCHANGED if self.is_own else _CHANGED, self.accuracies)


def run(lab: Laboratory, plan: HyperparametersPlan) -> Finding:
    """Select with every value of every option; what the values share is found in the pair cache.

    Raises:
        LensError: as `Laboratory.select`; `InvalidConfig` where a value does not go with the other options.
    """
    datasets = datasets_of(plan.selections)
    is_single = len(datasets) == 1
    found = [one for name, cells in datasets.items() for one in _measure(lab, name, cells, plan.values)]
    return Finding(
        name="hyperparameters",
        title=TITLE,
        tables=(_table(found),),
        plots=tuple(_plot(name, cells, found, "" if is_single else name) for name, cells in datasets.items()),
        notes=(
            f"Support examples found with {describe_cells(plan.selections)}. "
            "One option is changed at a time; the others stay, but rounds and score set, and so some candidates, "
            "follow rho, and rho follows m. A dot is the selection of one seed, with a search of its own; whiskers and "
            "sd are over the seeds. A wider beam evaluates more permutations: the table says how many.",
            describe_rows([test for one in found for test in one.tests]),
        ),
    )


def vary(config: SelectionConfig, option: str, value: float) -> SelectionConfig:
    """The configuration with another value of a dotted option.

    Raises:
        InvalidConfig: the value is out of range, or does not go with the other options.
    """
    changed = config.model_dump()
    group, name = option.split(".")
    changed[group][name] = value
    return resolve_config("standard", changed)  # the preset's own options are all laid over


def own_value(config: SelectionConfig, option: str) -> float:
    """The value an option has, or that follows from the others: rho from N, m and the rounds.

    Raises:
        InvalidConfig: rho follows from N, and N is not given.
    """
    group, name = option.split(".")
    value: float | None = getattr(getattr(config, group), name)
    return _derive_rho(config) if value is None else float(value)


def _derive_rho(config: SelectionConfig) -> float:
    filtering = config.filtering
    if filtering.candidates is None:
        raise InvalidConfig(
            "rho follows from the number of candidates: set filtering.candidates, or filtering.rho",
            field="options.filtering.rho",
        )
    return float(max((filtering.candidates / filtering.keep) ** (1 / filtering.rounds), 1.1))


def _measure(
    lab: Laboratory, dataset: str, cells: list[SelectionCell], values: Mapping[str, tuple[float, ...]]
) -> list[Setting]:
    own = tuple(lab.select(cell) for cell in cells)
    found = list[Setting]()
    for option in values:
        mine = own_value(cells[0].config, option)
        found.append(Setting(dataset, option, mine, True, own))
        found += [_change(lab, dataset, cells, option, value) for value in values[option] if value != mine]
    return found


def _change(lab: Laboratory, dataset: str, cells: list[SelectionCell], option: str, value: float) -> Setting:
    title = f"{SYMBOLS[option]} = {value:.3g}"
    changed = [cell.bench.selection(vary(cell.config, option, value)) for cell in cells]
    return Setting(dataset, option, value, False, tuple(lab.select(cell, title) for cell in changed))


def _in_order(found: list[Setting], dataset: str, option: str) -> list[Setting]:
    """By value."""
    return sorted((one for one in found if (one.dataset, one.option) == (dataset, option)), key=lambda one: one.value)


def _table(found: list[Setting]) -> Table:
    keys = dict.fromkeys((one.dataset, one.option) for one in found)
    rows = tuple(_row(one) for dataset, option in keys for one in _in_order(found, dataset, option))
    columns = ("dataset", "option", "value", "mean", "sd", "seeds", "test rows", "permutations evaluated", "pairs")
    return Table(columns, rows, caption="The unchanged value stands with a star:")


def _row(one: Setting) -> tuple[Value, ...]:
    costs = [result.cost for result in one.results]
    return (
        one.dataset,
        f"{SYMBOLS[one.option]} (`{one.option}`)",
        f"{one.value:.3g}{' *' if one.is_own else ''}",
        mean(one.accuracies),
        sample_sd(one.accuracies),
        len(one.results),
        show_rows(one.tests),
        round(mean([cost.permutations_judged for cost in costs])),
        round(mean([cost.pairs for cost in costs])),
    )


def _plot(dataset: str, cells: list[SelectionCell], found: list[Setting], name: str) -> Plot:
    options = dict.fromkeys(one.option for one in found if one.dataset == dataset)
    panels = [_panel(option, _in_order(found, dataset, option)) for option in options]
    rows = show_rows([test for one in found if one.dataset == dataset for test in one.tests])
    return plot_strips(f"{TITLE}\n{title_panel(dataset, cells)}", panels, f"accuracy on {rows} test rows", name)


def _panel(option: str, settings: list[Setting]) -> Panel:
    return Panel(SYMBOLS[option], option, tuple(one.as_group() for one in settings))
