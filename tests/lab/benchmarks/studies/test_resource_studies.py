"""Scaling and memory: what is measured is what was asked for."""

from pathlib import Path

import pytest

from benchmarks.measuring.cheap_scorer import CheapScorer
from benchmarks.studies.memory import lengthen, measure, memory_section, write_upload
from benchmarks.studies.memory_child import Scenario
from benchmarks.studies.scaling import ENGINE_SIZES, SIZES, draw_plot, make_run, scaling_section, study
from benchmarks.studies.scaling import measure as measure_run
from benchmarks.workloads.texts import generate_examples
from lens_engine.plan.rounds import plan_rounds
from lens_engine.rows.splits import split_examples


def test_run_has_the_candidates_asked_for_and_the_same_rounds() -> None:
    small, large = (split_examples(*make_run(candidates)) for candidates in (300, 600))

    assert (len(small.candidates), len(large.candidates)) == (300, 600)
    assert len(small.validation) == len(large.validation)
    assert len(small.test) == len(large.test)


@pytest.mark.parametrize("candidates", [*SIZES, *ENGINE_SIZES])
def test_every_size_has_three_rounds_that_grow_freely(candidates: int) -> None:
    _, config = make_run(300)
    growth = max((candidates / config.filtering.keep) ** (1 / 3), 2.0)

    rounds = plan_rounds(candidates, config.filtering)

    assert [each.score_size for each in rounds] == [4, round(4 * growth), round(4 * growth**2)]
    assert rounds[-1].keep == config.filtering.keep


def test_measurement_counts_filtering_apart_from_the_whole() -> None:
    found = measure_run(300, CheapScorer())

    assert found.candidates == 300
    assert found.pairs >= 300 * 4
    assert found.tokens > found.pairs
    assert 0 < found.filter_seconds <= found.seconds


def test_study_of_scaling_shows_sizes_parts_and_exponents(tmp_path: Path) -> None:
    measured = study([400, 800], [400, 800], CheapScorer())
    section = scaling_section(measured)
    draw_plot(measured, tmp_path / "images/scaling.svg")

    assert 0.8 < measured["exponents"]["tokens"] < 1.3
    assert "| 400 |" in section
    assert "| ranking |" in section
    assert (tmp_path / "images/scaling.svg").read_text().startswith("<?xml")


def test_long_texts_differ_and_keep_their_labels() -> None:
    examples = generate_examples("reviews", 40)
    long = lengthen(examples, 3)

    assert len({example.text for example in long}) == 40
    assert [example.label for example in long] == [example.label for example in examples]
    assert all(len(after.text) > len(before.text) for before, after in zip(examples, long, strict=True))


def test_footprint_of_a_run_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    upload = write_upload(generate_examples("reviews", 400), tmp_path / "upload.jsonl")

    read, ran = (measure(Scenario("", upload, runs=runs)) for runs in (False, True))

    for footprint in (read, ran):
        assert footprint.peak >= footprint.loaded > 0
        assert footprint.added == footprint.peak - footprint.loaded
    assert ran.peak > read.peak


def test_table_of_memory_is_in_mebibytes() -> None:
    scenario = {"title": "a run", "loaded": 100 << 20, "peak_loading": 120 << 20, "peak": 1300 << 20}

    section = memory_section({"rows": 30_000, "scenarios": [scenario]})

    assert "30,000 rows" in section
    assert "| a run | 100 | 120 | 1,300 | 1,200 |" in section
