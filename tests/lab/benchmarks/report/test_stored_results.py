"""Every stored result can still be shown: what an older commit measured must stay readable."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.report.page import RESULTS
from benchmarks.report.records import ComparisonRecord, Machine, SearchRecord
from benchmarks.report.tables import show_comparison, show_search
from benchmarks.studies.memory import memory_section
from benchmarks.studies.precision_table import precision_section
from benchmarks.studies.scaling import scaling_section

Show = Callable[[str], str]
"""From the text of a file to a section of the page."""

SHOW: dict[str, Show] = {
    "cpu": lambda text: show_comparison(ComparisonRecord.model_validate_json(text)),
    "cuda": lambda text: show_comparison(ComparisonRecord.model_validate_json(text)),
    "search": lambda text: show_search(SearchRecord.model_validate_json(text)),
    "memory": lambda text: memory_section(json.loads(text)),
    "precision": lambda text: precision_section(json.loads(text)["datasets"]),
    "scaling": lambda text: scaling_section(json.loads(text)),
}


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_stored_result_can_be_shown(file: Path) -> None:
    text = file.read_text("utf-8")

    section = SHOW[file.stem.partition("-")[0]](text)

    assert "\n| --- |" in section
    assert Machine.model_validate(json.loads(text)["machine"]).threads > 0
