"""Where the studies leave what they measured: JSON in results/, a table in docs/performance.md."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.page import PAGE, RESULTS, write_section
from benchmarks.records import describe_machine


def write_study(
    name: str, measured: Mapping[str, Any], section: str, folder: Path = RESULTS, page: Path = PAGE
) -> None:
    """Write `name`.json with what it was measured on, and the page's section `name`.

    Raises:
        ValueError: the page has no such section; the JSON is written all the same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    machine = describe_machine(torch.device(measured.get("device", "cpu")))
    content = json.dumps({"machine": machine.model_dump(), **measured}, indent=2)
    (folder / f"{name}.json").write_text(content + "\n", "utf-8")
    write_section(name, section, page)
