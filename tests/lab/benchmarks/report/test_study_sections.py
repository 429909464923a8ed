import json
from pathlib import Path

import pytest
import torch

from benchmarks.report.page import PAGE, write_study
from benchmarks.report.records import Machine
from benchmarks.studies.precision import study_name

MACHINE = Machine(processor="a processor", accelerator=None, threads=2, load=0.25, packages={"torch": "2"})
MEASURED = {"rows": 3}


def test_study_leaves_its_numbers_its_machine_and_its_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- begin memory -->\n<!-- end memory -->\n\nEnd.\n")

    write_study("memory", MACHINE, MEASURED, "three rows", tmp_path / "results", page)

    written = json.loads((tmp_path / "results/memory.json").read_text())
    assert written["rows"] == 3
    assert Machine.model_validate(written["machine"]) == MACHINE
    assert "a processor, 2 threads; torch 2; load 0.25 when it began.\n\nthree rows" in page.read_text()
    assert page.read_text().endswith("End.\n")


def test_numbers_are_kept_when_the_page_has_no_place_for_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n")

    with pytest.raises(ValueError, match="memory"):
        write_study("memory", MACHINE, MEASURED, "three rows", tmp_path, page)

    assert json.loads((tmp_path / "memory.json").read_text())["rows"] == 3


def test_page_has_a_place_for_every_study() -> None:
    precision = [study_name(torch.device(kind), has_rows=given) for kind in ("cpu", "cuda") for given in (True, False)]
    assert precision == ["precision-cpu", "precision-cpu-synthetic", "precision-cuda", "precision-cuda-synthetic"]

    page = PAGE.read_text("utf-8")
    for name in ("scaling", "memory", *precision):
        assert f"<!-- begin {name.replace('-', ' ')} -->" in page
