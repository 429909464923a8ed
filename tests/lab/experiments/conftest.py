"""Laboratories of doubles, and the smallest configuration that runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.experiments.laboratory.cells import Bench
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.laboratory.progress import Progress
from lab.experiments.laboratory.store import CellStore
from lens_engine.config import SelectionConfig
from lens_engine.presets import resolve_config
from tests.lab.experiments.experiment_doubles import TINY, FixedDatasets, TableModels, make_dataset


@pytest.fixture
def models() -> TableModels:
    return TableModels()


@pytest.fixture
def datasets() -> FixedDatasets:
    return FixedDatasets(make_dataset("reviews"), make_dataset("news"))


@pytest.fixture
def make_laboratory(tmp_path: Path, datasets: FixedDatasets, models: TableModels) -> Callable[..., Laboratory]:
    """A laboratory over the same folder each time, as if the process had been started again."""

    def make(own_models: TableModels | None = None, progress: Progress | None = None) -> Laboratory:
        store = CellStore(tmp_path / "store")
        return Laboratory(store, datasets.find, own_models or models, progress or Progress())

    return make


@pytest.fixture
def laboratory(make_laboratory: Callable[..., Laboratory]) -> Laboratory:
    return make_laboratory()


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench(model="table", dataset="reviews", template="{text} It was {label}.", seed=3)


@pytest.fixture(scope="session")
def make_tiny() -> Callable[..., SelectionConfig]:
    """A tiny configuration; groups of options are laid over it."""

    def make(**options: Any) -> SelectionConfig:
        merged = dict(TINY)
        for name, value in options.items():
            merged[name] = {**merged.get(name, {}), **value} if isinstance(value, dict) else value
        return resolve_config("quick", merged)

    return make
