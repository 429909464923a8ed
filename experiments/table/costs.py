"""The cost of a table before it is computed. It needs no model, and none of the paper's datasets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from experiments.data.tasks import Dataset, FindDataset, known_settings
from experiments.laboratory.cells import Bench, SelectionCell
from lens_engine.config import SelectionConfig
from lens_engine.metering.cost import Cost
from lens_engine.methods.base import Run
from lens_engine.methods.catalogue import make_method
from lens_engine.pricing.prices import Prices, TokenLengths
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.run.preparation import price_run
from lens_engine.types import Example, Phase

_TOKENS_PER_WORD = 1.3  # of English prose, in vocabularies of 50,000
_MOST_PLACEHOLDERS = 150_000  # more rows than any split of the presets takes


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a public dataset on the hub; the tokens of a text are a rough mean."""

    train: int
    test: int
    text_tokens: float


SIZES: dict[str, Size] = {
    "sst-2": Size(6_920, 1_821, 24),
    "sst-5": Size(8_544, 2_210, 24),
    "amazon": Size(200_000, 5_000, 42),
    "mr": Size(8_530, 1_066, 27),
    "subj": Size(8_000, 2_000, 30),
    "trec": Size(5_452, 500, 12),
    "agnews": Size(120_000, 7_600, 52),
    "dbpedia": Size(560_000, 70_000, 68),
}


@dataclass(frozen=True, slots=True)
class Line:
    """The cost of all cells of one row of the table."""

    name: str
    cells: int
    cost: Cost


@cache
def placeholder_dataset(name: str) -> Dataset:
    """A dataset with the size and the task of a public one, and with placeholders for texts.

    Raises:
        InvalidDataset: the paper has no dataset of this name.
    """
    settings, size = known_settings(name), SIZES[name]
    labels = tuple(settings.words)
    train, test = (
        tuple(Example(row, f"{split} {row}", labels[row % len(labels)]) for row in range(count))
        for split, count in (("train", min(size.train, _MOST_PLACEHOLDERS)), ("test", size.test))
    )
    return Dataset(name, settings, train, test)


def price_cells(cells: Mapping[SelectionCell, str], find_dataset: FindDataset) -> list[Line]:
    """The cost of all cells, as a line for each name.

    An upper bound: every permutation is judged on every row. Zero-shot and fine-tuning, which the cells of one bench
    share, are counted with the first of them.

    Raises:
        LensError: as `split_examples`.
    """
    pricer = _Pricer(find_dataset)
    lines: dict[str, Line] = {}
    for cell, name in cells.items():
        line = lines.get(name, Line(name, 0, Cost()))
        lines[name] = replace(line, cells=line.cells + 1, cost=line.cost + pricer.price(cell))
    return list(lines.values())


@dataclass
class _Pricer:
    find_dataset: FindDataset
    _splits: dict[object, SplitRows] = field(default_factory=dict)
    _priced: dict[tuple[str, str, SelectionConfig], dict[str, Cost]] = field(default_factory=dict)
    _paid: set[tuple[Bench, str]] = field(default_factory=set)

    def price(self, cell: SelectionCell) -> Cost:
        config = cell.config.model_copy(update={"seed": 0})  # sizes do not depend on the seed
        key = (cell.bench.dataset, cell.bench.template, config)
        if key not in self._priced:
            self._priced[key] = self._break_down(cell, config)
        parts = self._priced[key]
        return sum((cost for name, cost in parts.items() if self._is_due(cell.bench, name)), Cost())

    def _is_due(self, bench: Bench, part: str) -> bool:
        """Whether a part is counted: the cell's own always, a shared one when its bench needs it first."""
        if part == "own":
            return True
        is_new = (bench, part) not in self._paid
        self._paid.add((bench, part))
        return is_new

    def _break_down(self, cell: SelectionCell, config: SelectionConfig) -> dict[str, Cost]:
        dataset = self.find_dataset(cell.bench.dataset)
        rows = self._split(dataset, cell, config)
        prices = Prices(rows, config, _measure(dataset, cell.bench.template))
        run = Run(dataset.problem(cell.bench.template).task, config, rows, prices)
        phases = price_run(run, make_method(run))
        zero_shot, fine_tuning = prices.testing(demonstrations=0), phases.pop(Phase.FINE_TUNE, None)
        own = sum(phases.values(), Cost())
        parts = {"own": Cost(own.pairs - zero_shot.pairs, own.tokens - zero_shot.tokens)}
        parts[f"zero-shot on {len(rows.test)} rows"] = zero_shot
        if fine_tuning is not None:
            parts[f"fine-tuning on {len(rows.candidates)} rows"] = fine_tuning
        return parts

    def _split(self, dataset: Dataset, cell: SelectionCell, config: SelectionConfig) -> SplitRows:
        key = (dataset.name, config.splits, config.filtering, config.num_demonstrations, config.balanced)
        if key not in self._splits:
            self._splits[key] = split_examples(dataset.problem(cell.bench.template), config)
        return self._splits[key]


def _measure(dataset: Dataset, template: str) -> TokenLengths:
    """Rough means: a token for each word and mark of the template, and one for the label word."""
    text = SIZES[dataset.name].text_tokens if dataset.name in SIZES else _TOKENS_PER_WORD * _mean_words(dataset)
    around = len(template.replace("{text}", "").replace("{label}", "").split())
    return TokenLengths(demonstration=text + around + 2, query=text + around)


def _mean_words(dataset: Dataset) -> float:
    return sum(len(example.text.split()) for example in dataset.train) / max(len(dataset.train), 1)
