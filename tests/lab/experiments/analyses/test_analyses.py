"""Every analysis, as its command runs it, at the size of tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.analyses.analysis import Analysis
from experiments.analyses.catalogue import ANALYSES
from experiments.analyses.hyperparameters import BEAM, SYMBOLS, own_value, vary
from experiments.data.tasks import known_settings
from experiments.findings.writing import write
from experiments.laboratory.laboratory import Laboratory
from experiments.laboratory.store import CellStore
from experiments.scales import SCALES, TINY, Scale
from lens_engine.errors import InvalidConfig
from tests.lab.experiments.experiment_doubles import FixedDatasets, TableModels, make_dataset

MakeLaboratory = Callable[..., Laboratory]


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    datasets = FixedDatasets(make_dataset("sst-2"), make_dataset("trec"))
    return Laboratory(CellStore(tmp_path / "store"), datasets.find, TableModels())


@pytest.mark.parametrize("name", ANALYSES)
def test_finding_is_written_with_its_picture(name: str, laboratory: Laboratory, tmp_path: Path) -> None:
    analysis = ANALYSES[name]
    sizes = {"models": ("another",)} if name == "transfer" else {}

    finding = analysis.perform(laboratory, analysis.narrow(TINY), **sizes)
    files = write(finding, tmp_path / "out")

    assert finding.name == name
    assert finding.title == analysis.question
    assert finding.notes[-1] == TINY.note
    page = (tmp_path / "out" / f"{name}.md").read_text()
    assert page.startswith(f"# {analysis.question}\n")
    assert f"({name}.svg)" in page
    assert {path.suffix for path in files} == {".md", ".csv", ".svg"}
    picture = (tmp_path / "out" / f"{name}.svg").read_text()
    assert "20 test rows" in picture
    assert analysis.question.split()[0] in picture


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_scale_of_an_analysis_is_part_of_the_tables(name: str, scale: Scale) -> None:
    narrowed = ANALYSES[name].narrow(scale)

    assert set(narrowed.datasets) <= set(scale.datasets)
    assert set(narrowed.templates) <= set(scale.templates)
    assert (narrowed.name, narrowed.model) == (scale.name, scale.model)
    if name != "classifier":  # its selections have rivals; those of the table are single prompts
        assert narrowed.options == scale.options


def test_selections_are_the_cells_of_the_table(laboratory: Laboratory) -> None:
    table = TINY.selections(laboratory.find_dataset)
    laboratory.select(table[0])
    models = TableModels()
    again = Laboratory(laboratory.store, laboratory.find_dataset, models)

    ANALYSES["hyperparameters"].perform(again, TINY, values={BEAM: (2,)})

    assert models.loaded == []


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_values_of_hyperparameters_go_with_the_options_of_their_scale(scale: Scale) -> None:
    analysis = ANALYSES["hyperparameters"]
    values = analysis.sizes[scale.name]["values"]

    assert list(values) == list(SYMBOLS)
    for dataset in analysis.narrow(scale).datasets:
        config = scale.config(known_settings(dataset))
        for option, others in values.items():
            assert own_value(config, option) not in others
            assert [own_value(vary(config, option, value), option) for value in others] == list(others)


def test_transfer_asks_for_another_model(laboratory: Laboratory) -> None:
    with pytest.raises(InvalidConfig, match="no other model"):
        ANALYSES["transfer"].perform(laboratory, TINY)


def test_pairs_are_of_one_selection(laboratory: Laboratory) -> None:
    with pytest.raises(InvalidConfig, match="these are 2"):
        ANALYSES["pairs"].perform(laboratory, TINY.model_copy(update={"seeds": (0, 1)}))


def test_sizes_given_go_before_those_of_the_scale(laboratory: Laboratory) -> None:
    finding = ANALYSES["order"].perform(laboratory, TINY, orders=2)

    assert finding.tables[0].rows[0][-2] == 2


def test_scale_that_is_not_named_is_as_it_is() -> None:
    assert Analysis.narrow(TINY) == TINY
