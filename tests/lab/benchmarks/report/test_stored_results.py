"""Every stored result can still be shown: what an older commit measured must stay readable."""

from pathlib import Path

import pytest

from lab.benchmarks.report.records import ComparisonRecord
from lab.benchmarks.report.tables import RESULTS, show_comparison


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_stored_result_can_be_shown(file: Path) -> None:
    record = ComparisonRecord.model_validate_json(file.read_text("utf-8"))

    section = show_comparison(record)

    for workload in record.workloads:
        assert f"**{workload.key}**" in section
        assert all(f"{run.pairs_per_second:,.1f}" in section for run in workload.engines)
