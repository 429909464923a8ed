"""The analyses beside the main table, by name: what each asks, how large it is, and how it is run.

Their selections are those of LENS in the main table, and so are their cells.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.analyses import filtering, hyperparameters, labels, order, pairs, transfer
from experiments.analyses.hyperparameters import BEAM, KEEP, RHO, WEIGHT
from experiments.findings.finding import Finding
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.scales import Scale
from lens_engine.errors import InvalidConfig

Perform = Callable[..., Finding]
"""Laboratory, selections, and sizes by name."""

_SMALL = (
    "A size for two processor cores and a small model, not the paper's: few candidates, seeds and test rows. It shows "
    "how the question is asked, more than it answers it."
)


@dataclass(frozen=True)
class Analysis:
    """One analysis.

    `scales` says what of a scale is smaller for it than for the table, and `sizes` how many of each thing it
    takes, both by the scale's name; what is not named there is as in the scale, and as in its plan.
    """

    title: str
    perform: Perform
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def narrow(self, scale: Scale) -> Scale:
        """The scale of this analysis."""
        return scale.model_copy(update=dict(self.scales.get(scale.name, {})))

    def run(self, lab: Laboratory, scale: Scale, **sizes: Any) -> Finding:
        """Perform it on the selections of a scale, which may be narrower or wider than `narrow` gives.

        Raises:
            LensError: as the analysis; `InvalidDataset`, `InvalidConfig`: as `Scale.selections`.
        """
        cells = tuple(scale.selections(lab.find_dataset))
        finding = self.perform(lab, cells, **{**self.sizes.get(scale.name, {}), **sizes})
        return replace(finding, notes=(*finding.notes, scale.note))


def _order(lab: Laboratory, cells: tuple[SelectionCell, ...], **sizes: Any) -> Finding:
    return order.run(lab, order.OrderPlan(cells, **sizes))


def _transfer(lab: Laboratory, cells: tuple[SelectionCell, ...], models: tuple[str, ...] = (), **sizes: Any) -> Finding:
    if not models:
        raise InvalidConfig("no other model was named; say whom the examples are to serve", field="to")
    return transfer.run(lab, transfer.TransferPlan(cells, models, **sizes))


def _labels(lab: Laboratory, cells: tuple[SelectionCell, ...], **sizes: Any) -> Finding:
    return labels.run(lab, labels.LabelsPlan(cells, **sizes))


def _hyperparameters(lab: Laboratory, cells: tuple[SelectionCell, ...], **sizes: Any) -> Finding:
    return hyperparameters.run(lab, hyperparameters.HyperparametersPlan(cells, **sizes))


def _filtering(lab: Laboratory, cells: tuple[SelectionCell, ...], **sizes: Any) -> Finding:
    return filtering.run(lab, filtering.FilteringPlan(cells, **sizes))


def _pairs(lab: Laboratory, cells: tuple[SelectionCell, ...], **sizes: Any) -> Finding:
    if len(cells) != 1:
        raise InvalidConfig(
            f"pairs are of one selection, and these are {len(cells)}; name one dataset, one template and one seed",
            field="datasets",
        )
    return pairs.run(lab, pairs.PairsPlan(cells[0], **sizes))


_ONE = {"datasets": ("sst-2",), "seeds": (0,), "note": _SMALL}
_FOUR_SEEDS = {"templates": (0,), "seeds": (0, 1, 2, 3)}
_ONE_OF_THE_PAPER = {"datasets": ("sst-2",), "templates": (0,), "seeds": (0,)}

ANALYSES: dict[str, Analysis] = {
    "order": Analysis(
        order.TITLE,
        _order,
        scales={
            "laptop": {"datasets": ("sst-2",), "seeds": (0, 1, 2, 3), "note": _SMALL},
            "paper": _FOUR_SEEDS,
        },
        sizes={"tiny": {"orders": 3}},
    ),
    "transfer": Analysis(
        transfer.TITLE,
        _transfer,
        scales={"laptop": {"note": _SMALL}, "paper": _FOUR_SEEDS},
        sizes={
            "tiny": {"random_sets": 2},
            "paper": {
                "models": ("openai-community/gpt2-medium", "openai-community/gpt2-xl", "EleutherAI/gpt-neo-1.3B")
            },
        },
    ),
    "labels": Analysis(
        labels.TITLE,
        _labels,
        scales={"laptop": {"datasets": ("sst-2",), "note": _SMALL}, "paper": _FOUR_SEEDS},
        sizes={"tiny": {"random_sets": 2, "labellings": 2}},
    ),
    "hyperparameters": Analysis(
        hyperparameters.TITLE,
        _hyperparameters,
        scales={"laptop": _ONE, "paper": {"datasets": ("sst-2", "trec"), **_FOUR_SEEDS}},
        sizes={
            "laptop": {"values": {RHO: (3.0,), KEEP: (128,), WEIGHT: (0.0, 3.0), BEAM: (2,)}},
            "tiny": {"values": {RHO: (1.2,), KEEP: (12,), WEIGHT: (0.0,), BEAM: (1,)}},
            "paper": {
                "values": {RHO: (1.5, 3.0, 4.0), KEEP: (100, 250, 1000), WEIGHT: (0.0, 0.5, 2.0), BEAM: (2, 4, 16)}
            },
        },
    ),
    "filtering": Analysis(
        filtering.TITLE,
        _filtering,
        scales={"laptop": _ONE, "paper": _FOUR_SEEDS},
        sizes={"tiny": {"permutations": 2, "share": 0.5}},
    ),
    "pairs": Analysis(
        pairs.TITLE,
        _pairs,
        scales={"laptop": _ONE, "paper": _ONE_OF_THE_PAPER},
        sizes={"tiny": {"singles": 6, "best": 4}, "paper": {"singles": 200, "best": 16}},
    ),
}
