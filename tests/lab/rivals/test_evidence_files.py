from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.rivals.evidence_files import RememberingFineTuner
from lab.rivals.fine_tuning.evidence import Evidence, TuningRows
from lens_engine.types import Example
from tests.lab.experiments.experiment_doubles import TableModels, make_dataset

DATASET = make_dataset()
TASK = DATASET.problem("{text} It was {label}.").task
POOL, VALIDATION = DATASET.train[:10], DATASET.train[10:14]


def tune(models: TableModels, folder: Path, reference: str = "table", **changes: Any) -> Evidence:
    given: dict[str, Any] = {"pool": POOL, "validation": VALIDATION, "seed": 1, "task": TASK, **changes}
    tuner = RememberingFineTuner(reference, folder, models)
    return tuner(TuningRows(**given), lambda *_: None)


def assert_same(one: Evidence, other: Evidence) -> None:
    for name in ("groups", "features", "probabilities", "early_gradient_norms", "correct_by_epoch"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert (one.validation is None) == (other.validation is None)
    if one.validation is not None and other.validation is not None:
        for name in ("groups", "features", "probabilities"):
            assert np.array_equal(getattr(one.validation, name), getattr(other.validation, name)), name


@pytest.mark.parametrize("validation", [VALIDATION, ()], ids=["validated", "alone"])
def test_second_method_shares_the_fine_tuning_of_the_first(tmp_path: Path, validation: Sequence[Example]) -> None:
    models = TableModels()
    first, second = (tune(models, tmp_path, validation=validation) for _ in range(2))
    assert models.tunings == 1
    assert_same(first, second)


@pytest.mark.parametrize(
    "change",
    [
        {"reference": "other"},
        {"seed": 2},
        {"pool": POOL[:-1]},
        {"validation": VALIDATION[:-1]},
        {"task": DATASET.problem("{text} {label}").task},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_fine_tuning_is_not_mistaken_for_it(tmp_path: Path, change: dict[str, Any]) -> None:
    models = TableModels()
    tune(models, tmp_path)
    tune(models, tmp_path, **change)
    assert models.tunings == 2


@pytest.mark.parametrize("damage", [lambda raw: raw[:0], lambda raw: raw[:100], lambda raw: b"x" * len(raw)])
def test_damaged_file_costs_a_fine_tuning_and_nothing_else(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    models = TableModels()
    first = tune(models, tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert_same(tune(models, tmp_path), first)
    assert models.tunings == 2
