"""Every analysis, as its command runs it, at the size of tests."""

from pathlib import Path

import pytest

from experiments.analyses.catalogue import ANALYSES
from experiments.laboratory.laboratory import Laboratory
from experiments.laboratory.store import CellStore
from experiments.scales import SCALES, TINY, Scale
from tests.lab.experiments.experiment_doubles import FixedDatasets, TableModels, make_dataset


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    datasets = FixedDatasets(make_dataset("sst-2"), make_dataset("trec"))
    return Laboratory(CellStore(tmp_path / "store"), datasets.find, TableModels())


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_scale_of_an_analysis_is_part_of_the_tables(name: str, scale: Scale) -> None:
    narrowed = ANALYSES[name].narrow(scale)

    assert set(narrowed.datasets) <= set(scale.datasets)
    assert set(narrowed.templates) <= set(scale.templates)
    assert (narrowed.name, narrowed.model) == (scale.name, scale.model)
    if name != "classifier":  # its selections have rivals; those of the table are single prompts
        assert narrowed.options == scale.options


def test_sizes_given_go_before_those_of_the_scale(laboratory: Laboratory) -> None:
    finding = ANALYSES["order"].perform(laboratory, TINY, orders=2)

    assert finding.tables[0].rows[0][-2] == 2
