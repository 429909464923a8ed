"""Where the studies leave what they measured: JSON in results/, a table in docs/performance.md."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report.page import PAGE, RESULTS, write_section
from benchmarks.report.records import Machine
from benchmarks.report.tables import show_machine


def write_study(
    name: str, machine: Machine, measured: Mapping[str, Any], section: str, folder: Path = RESULTS, page: Path = PAGE
) -> None:
    """Write `name`.json and the page's section `name`, spaces for hyphens; both begin with what it was measured on.

    The machine is described by the caller before anything runs: afterwards its load would be that of the study.

    Raises:
        ValueError: the page has no such section; the JSON is written all the same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"machine": machine.model_dump(), **measured}, indent=2)
    (folder / f"{name}.json").write_text(content + "\n", "utf-8")
    write_section(name.replace("-", " "), f"{show_machine(machine)}\n\n{section}", page)
