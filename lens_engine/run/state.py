"""The state of a run: everything that it has found so far, and its form in a checkpoint."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import RowFigures
from lens_engine.metering.prices import Cost
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.judge import Judging
from lens_engine.scoring.spending import Paid
from lens_engine.search.lens.method import LensState
from lens_engine.types import IndexArray, LabelLogProbs, Phase, Record


class TestedFigures(Record):
    """The answers of a classifier to the test rows."""

    __test__ = False  # pytest would collect the class

    answers: tuple[int, ...]
    confidences: tuple[float, ...]  #: probability of each answer
    losses: tuple[float, ...]  #: of the gold label (nats)

    @classmethod
    def of(cls, found: RowFigures) -> "TestedFigures":
        columns = (found.answers, found.confidences, found.losses)
        return cls(**dict(zip(cls.model_fields, (tuple(one.tolist()) for one in columns), strict=True)))

    def figures(self, gold: IndexArray) -> RowFigures:
        return RowFigures(gold, np.array(self.answers), np.array(self.confidences), np.array(self.losses))


@dataclass(frozen=True)
class RunState:
    """The state between two steps of a run."""

    lens: LensState | None = None  #: None without a search
    judging: Judging | None = None  #: None before the prompts are proposed
    candidates: tuple[Candidate, ...] = ()  #: for the classifier
    tested: Mapping[int, LabelLogProbs] = field(default_factory=dict)  #: `[test_rows, labels]` of prompts, by place
    tested_classifiers: Mapping[int, TestedFigures] = field(default_factory=dict)  #: by place of the candidate
    done: tuple[str, ...] = ()  #: finished steps
    skipped: tuple[str, ...] = ()  #: those of them that the budget did not cover
    cut_off: Phase | None = None  #: phase in which a limit ended the search or the judging
    spent: Cost = Cost()
    seconds: float = 0.0
    pairs_from_cache: int = 0
    refused: int = 0
    paid: Paid = Paid()

    def to_checkpoint(self, fingerprint: str, dtype: str, phase: Phase, step: int) -> Checkpoint:
        lens, arrays = (None, dict[str, NDArray[Any]]()) if self.lens is None else self.lens.pack()
        judging = None
        if self.judging is not None:
            arrays |= {f"cells_{place}": cells for place, cells in self.judging.cells.items()}
            judging = [list(self.judging.left), self.judging.rungs_done]
        arrays |= {f"tested_{place}": scores for place, scores in self.tested.items()}
        values = {
            "lens": lens,
            "judging": judging,
            "candidates": [one.model_dump(mode="json") for one in self.candidates],
            "tested_classifiers": {place: one.model_dump() for place, one in self.tested_classifiers.items()},
            "done": list(self.done),
            "skipped": list(self.skipped),
            "cut_off": self.cut_off,
            "spent": [self.spent.pairs, self.spent.tokens, self.seconds],
            "pairs_from_cache": self.pairs_from_cache,
            "refused": self.refused,
            "paid": astuple(self.paid),
        }
        return Checkpoint(fingerprint, phase, step, dtype, values, arrays)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "RunState":
        values, arrays = checkpoint.values, checkpoint.arrays
        pairs, tokens, seconds = values["spent"]
        judging = None
        if values["judging"] is not None:
            left, rungs_done = values["judging"]
            judging = Judging(_pick(arrays, "cells_"), tuple(left), rungs_done)
        return cls(
            lens=None if values["lens"] is None else LensState.unpack(values["lens"], arrays),
            judging=judging,
            candidates=tuple(Candidate.model_validate(one) for one in values["candidates"]),
            tested=_pick(arrays, "tested_"),
            tested_classifiers={
                int(place): TestedFigures.model_validate(one) for place, one in values["tested_classifiers"].items()
            },
            done=tuple(values["done"]),
            skipped=tuple(values["skipped"]),
            cut_off=None if values["cut_off"] is None else Phase(values["cut_off"]),
            spent=Cost(pairs, tokens),
            seconds=seconds,
            pairs_from_cache=values["pairs_from_cache"],
            refused=values["refused"],
            paid=Paid(*values["paid"]),
        )


def _pick(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[int, LabelLogProbs]:
    return {int(name.removeprefix(prefix)): array for name, array in arrays.items() if name.startswith(prefix)}
