"""The demonstration's figures are those of the README in each number format; which prompts are corrected may differ."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from lens_cli.sample import DEMO_SPEC, SAMPLE_FOLDER
from lens_cli.select.run import SelectionRun
from lens_cli.select.sources import Sources
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.opening import open_model
from lens_engine.presets import resolve_config
from lens_engine.prompt.request import TaskRequest
from lens_engine.run.pipeline import select_support_examples
from lens_engine.show.ways import list_ways

README, LINE = Path(__file__).parents[3] / "README.md", r"^(\S.*?) {2,}(\d+) +\d+ % "


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_figures_of_the_readme_are_those_of_a_run_within_two_texts(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LENS_EMBEDDINGS")  # the bundled embedder
    sources, config = Sources(SAMPLE_FOLDER / "train.csv", SAMPLE_FOLDER / "test.csv"), DEMO_SPEC["options"]
    run = SelectionRun.prepare(sources, TaskRequest(), resolve_config("quick", config))
    result = select_support_examples(run.problem, open_model(BUNDLED_MODEL, dtype=dtype).scorer, run.config)

    figures = [(way.name, round(way.figure.accuracy * way.figure.n)) for way in list_ways(result)]
    found, shown = map(find_best, (figures, re.findall(LINE, README.read_text("utf-8"), re.MULTILINE)))
    assert shown.keys() == found.keys()
    assert {name: right for name, right in shown.items() if abs(right - found[name]) > 2} == {}


def find_best(figures: Iterable[tuple[str, int | str]]) -> dict[str, int]:
    """The most right answers of each way, as the model answers or corrected."""
    found = dict[str, int]()
    for name, right in figures:
        name = name.removesuffix(", corrected")
        found[name] = max(found.get(name, 0), int(right))
    return found
