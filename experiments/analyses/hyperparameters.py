"""How much do the hyper-parameters matter? rho, m, lambda and B, one varied at a time, as Li & Qiu (2023) do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from experiments.analyses.analysis import FOUR_SEEDS, ONE_SELECTION, Analysis, ByScale
from experiments.analyses.captions import label_accuracy, title_panel
from experiments.findings.finding import Plot, Table, Value
from experiments.findings.spreads import mean, sample_sd, show_rows
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import Group, Panel, plot_strips
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.presets import resolve_config
from lens_engine.result import SelectionResult

RHO, KEEP, WEIGHT, BEAM = "filtering.rho", "filtering.keep", "search.diversity_weight", "search.beam_width"
SYMBOLS = {RHO: "rho", KEEP: "m", WEIGHT: "lambda", BEAM: "B"}
"""The paper's letter of each option, in the order of the panels."""
_UNCHANGED, _CHANGED = "no option changed", "one option changed"

Values = Mapping[str, tuple[float, ...]]
"""The values to try, by option."""

_VALUES: Values = {RHO: (1.5, 4.0), KEEP: (32, 128), WEIGHT: (0.0, 3.0), BEAM: (2, 8)}


@dataclass(frozen=True, slots=True)
class Setting:
    """Selections with one value of one option on one dataset, over all its seeds."""

    dataset: str
    option: str
    value: float
    is_own: bool  #: whether the selections have this value without a change
    results: tuple[SelectionResult, ...]

    @property
    def tests(self) -> tuple[Accuracy, ...]:
        return tuple(result.test for result in self.results if result.test is not None)

    @property
    def accuracies(self) -> tuple[float, ...]:
        return tuple(test.accuracy for test in self.tests)

    def as_group(self) -> Group:
        return Group(f"{self.value:.3g}", _UNCHANGED if self.is_own else _CHANGED, self.accuracies)


@dataclass(frozen=True)
class Hyperparameters(Analysis[list[Setting]]):
    """Each selection as it is, and with each of `values` in place of its own.

    Scores that two selections share come from the pair cache.
    """

    values: Values = field(default_factory=lambda: _VALUES)

    name: ClassVar[str] = "hyperparameters"
    question: ClassVar[str] = "How much do the hyper-parameters matter?"
    scales: ClassVar[ByScale] = {"laptop": ONE_SELECTION, "paper": {"datasets": ("sst-2", "trec"), **FOUR_SEEDS}}
    sizes: ClassVar[ByScale] = {
        "laptop": {"values": {RHO: (3.0,), KEEP: (128,), WEIGHT: (0.0, 3.0), BEAM: (2,)}},
        "tiny": {"values": {RHO: (1.2,), KEEP: (12,), WEIGHT: (0.0,), BEAM: (1,)}},
        "paper": {"values": {RHO: (1.5, 3.0, 4.0), KEEP: (100, 250, 1000), WEIGHT: (0.0, 0.5, 2.0), BEAM: (2, 4, 16)}},
    }

    def compute(self, lab: Laboratory) -> list[Setting]:
        return [one for dataset, cells in self.by_dataset.items() for one in self._vary(lab, dataset, cells)]

    def accuracies(self, found: list[Setting]) -> list[Accuracy]:
        return [test for one in found for test in one.tests]

    def tables(self, found: list[Setting]) -> tuple[Table, ...]:
        return (_table(found),)

    def plots(self, found: list[Setting]) -> tuple[Plot, ...]:
        is_single = len(self.by_dataset) == 1
        return tuple(
            self._plot(name, cells, found, "" if is_single else name) for name, cells in self.by_dataset.items()
        )

    def describe(self, found: list[Setting]) -> str:  # noqa: ARG002
        return (
            f"{self.origin} One option is changed at a time; the others stay, but rounds and score set, and so some "
            "candidates, follow rho, and rho follows m. A dot is the selection of one seed, with a search of its own; "
            "whiskers and sd are over the seeds. A wider beam evaluates more permutations: the table says how many."
        )

    def _vary(self, lab: Laboratory, dataset: str, cells: list[SelectionCell]) -> Iterator[Setting]:
        own = tuple(lab.select(cell) for cell in cells)
        for option, values in self.values.items():
            mine = own_value(cells[0].config, option)
            yield Setting(dataset, option, mine, True, own)
            yield from (_change(lab, dataset, cells, option, value) for value in values if value != mine)

    def _plot(self, dataset: str, cells: list[SelectionCell], found: list[Setting], name: str) -> Plot:
        options = dict.fromkeys(one.option for one in found if one.dataset == dataset)
        panels = [_panel(option, _in_order(found, dataset, option)) for option in options]
        y_label = label_accuracy(self.accuracies([one for one in found if one.dataset == dataset]))
        return plot_strips(f"{self.question}\n{title_panel(dataset, cells)}", panels, y_label, name)


def vary(config: SelectionConfig, option: str, value: float) -> SelectionConfig:
    """The configuration with another value of an option, which is named as GROUP.NAME.

    Raises:
        InvalidConfig: the value is out of range, or conflicts with the other options.
    """
    changed = config.model_dump()
    group, name = option.split(".")
    changed[group][name] = value
    return resolve_config("standard", changed)  # `changed` overrides every option of the preset


def own_value(config: SelectionConfig, option: str) -> float:
    """The value of an option; where rho is not set, the one that follows from N, m and the rounds.

    Raises:
        InvalidConfig: rho follows from N, and N is not set.
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


def _panel(option: str, settings: list[Setting]) -> Panel:
    return Panel(SYMBOLS[option], option, tuple(one.as_group() for one in settings))
