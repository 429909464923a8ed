from typing import Any

import pytest

from lab.experiments.data.tasks import known_settings
from lab.experiments.scales import LAPTOP, PAPER, SCALES, Scale
from lens_engine.errors import InvalidConfig
from lens_engine.task.paper_tasks import PAPER_TASKS
from tests.lab.experiments.experiment_doubles import FixedDatasets


def small(**changes: Any) -> Scale:
    return LAPTOP.model_copy(update={"datasets": ("reviews", "news"), "seeds": (0, 1), **changes})


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES.keys())
@pytest.mark.parametrize("name", PAPER_TASKS)
def test_every_dataset_has_a_valid_configuration_at_every_scale(scale: Scale, name: str) -> None:
    config = scale.config(known_settings(name))
    assert config.num_demonstrations == PAPER_TASKS[name].num_demonstrations
    assert config.balanced == PAPER_TASKS[name].balanced
    assert config.comparisons == "none"


def test_paper_has_its_own_rho_and_score_sizes() -> None:
    filtering = PAPER.config(known_settings("amazon")).filtering
    assert (filtering.rho, filtering.initial_score_size, filtering.keep) == (3, 4, 500)
    assert LAPTOP.config(known_settings("amazon")).filtering.rho is None


def test_benches_go_seed_by_seed(datasets: FixedDatasets) -> None:
    benches = small(templates=(0, 1)).benches(datasets.find)
    assert [bench.seed for bench in benches] == [0] * 4 + [1] * 4
    assert [bench.dataset for bench in benches[:4]] == ["reviews", "reviews", "news", "news"]
    assert len(set(benches)) == len(benches)


def test_selections_have_the_dataset_of_their_bench_and_its_options(datasets: FixedDatasets) -> None:
    cells = small().selections(datasets.find)
    assert len(cells) == 4
    assert {cell.config.num_demonstrations for cell in cells} == {4}
    assert [cell.config.seed for cell in cells] == [cell.bench.seed for cell in cells]


def test_missing_template_is_refused(datasets: FixedDatasets) -> None:
    with pytest.raises(InvalidConfig, match="reviews has 2 templates, counted from 0; there is no 3"):
        small(templates=(0, 3)).benches(datasets.find)
