"""Does a run on 30,000 examples stay within the model and 1.5 GiB? python -m benchmarks.studies.memory

Each scenario runs in its own process. A model answers some of the calls, so that its working memory shows.
The other calls get random numbers, so that the run takes minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.report.page import markdown_table, write_study
from benchmarks.report.records import describe_machine
from benchmarks.studies.memory_child import Footprint, Scenario
from benchmarks.workloads.texts import generate_examples
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.types import Example

LIMIT_BYTES = int(1.5 * 2**30)
"""Beside the model."""

_MIB = 2**20
_LONG = 12
"""Texts of the corpus in a long text of some 300 tokens."""


def write_upload(examples: Sequence[Example], file: Path) -> str:
    with file.open("w", encoding="utf-8") as lines:
        for example in examples:
            lines.write(json.dumps({"text": example.text, "label": example.label}) + "\n")
    return str(file)


def lengthen(examples: Sequence[Example], times: int) -> list[Example]:
    """The same number of examples, each joined from `times` texts."""
    count = len(examples)
    return [
        Example(row, " ".join(examples[(row + step * step) % count].text for step in range(times)), example.label)
        for row, example in enumerate(examples)
    ]


def scenarios(folder: Path, rows: int, model: str, model_every: int) -> list[Scenario]:
    examples = generate_examples("reviews", rows)
    short = write_upload(examples, folder / "short.jsonl")
    long = write_upload(lengthen(examples, _LONG), folder / "long.jsonl")
    return [
        Scenario("the API reads and checks the upload", short, runs=False),
        Scenario("the API reads and checks the upload, long texts", long, runs=False),
        Scenario("a run, engine alone", short),
        Scenario("a run, model in some calls", short, model, model_every),
        Scenario("a run, model in some calls, long texts", long, model, 10 * model_every),
    ]


def measure(scenario: Scenario) -> Footprint:
    """
    Raises:
        CalledProcessError: the scenario failed; its reason is on stderr.
    """
    command = [sys.executable, "-m", "benchmarks.studies.memory_child", json.dumps(asdict(scenario))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return Footprint(**json.loads(done.stdout))


def memory_section(measured: Mapping[str, Any]) -> str:
    rows = [
        [
            record["title"],
            *(f"{record[name] / _MIB:,.0f}" for name in ("loaded", "peak_loading", "peak")),
            f"{(record['peak'] - record['loaded']) / _MIB:,.0f}",
        ]
        for record in measured["scenarios"]
    ]
    return f"{measured['rows']:,} rows; MiB resident:\n\n" + markdown_table(
        ["scenario", "loaded", "peak while loading", "peak after it", "more than loaded"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.studies.memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--model", default=BUNDLED_MODEL)
    parser.add_argument("--model-every", type=int, default=1000, help="calls of the scorer for each call of the model")
    options = parser.parse_args()
    torch.set_num_threads(1)  # as in the processes
    machine = describe_machine(torch.device("cpu"))
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for scenario in scenarios(Path(folder), options.rows, options.model, options.model_every):
            footprint = measure(scenario)
            sys.stderr.write(f"{scenario.title}: {footprint.added / _MIB:,.0f} MiB more than loaded\n")
            records.append({"title": scenario.title} | asdict(footprint) | {"added": footprint.added})
    measured = {"rows": options.rows, "model": options.model, "scenarios": records}
    write_study("memory", machine, measured, memory_section(measured))
    above = [record["title"] for record in records if record["added"] > LIMIT_BYTES]
    if above:
        sys.exit(f"more than the model and {LIMIT_BYTES / _MIB:,.0f} MiB: {'; '.join(above)}")


if __name__ == "__main__":
    main()
