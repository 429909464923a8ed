"""Compare engines: `python -m lab.benchmarks.run`. Prints a table for each workload.

python -m lab.benchmarks.run                                             # SmolLM2-135M on this machine's processor
python -m lab.benchmarks.run --quick                                     # two workloads in minutes
python -m lab.benchmarks.run --device cuda --model random:gpt2-large     # random weights suffice for speed
python -m lab.benchmarks.run --write                                     # also into docs/performance.md
"""

import argparse
import gc
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from lab.benchmarks.compare import COLUMNS, Contestant, Engine, compare_engines
from lab.benchmarks.engines import EXECUTORS, LensEngine
from lab.benchmarks.harness import LARGEST_BATCH, has_harness, tune_harness
from lab.benchmarks.measuring import largest_delta
from lab.benchmarks.models import LoadedModel, ModelFamily, find_model, read_dtype
from lab.benchmarks.needs import count_processors, find_version
from lab.benchmarks.workloads import WORKLOADS, Work, WorkloadSpec, build_work
from lens_engine.errors import ModelError
from lens_engine.model.local.executors import ExecutorName
from lens_engine.model.local.model_files import BUNDLED_MODEL

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
_QUICK = ("W1-14", "W2")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parse(arguments)
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    dtype = read_dtype(options.dtype, device)
    name = str(dtype).removeprefix("torch.")
    shown = [f"{describe_machine(device)} Model `{options.model}`, `{name}` unless said otherwise.\n"]
    _print(shown[0])
    bench = Bench(find_model(options.model, device), dtype, options)
    for spec in WORKLOADS:
        if spec.key in options.workloads:
            shown.append(bench.show(spec, build_work(spec)))
            _print(shown[-1])
    if options.write:
        write_section(f"engines {device.type}", "\n".join(shown))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    keys = tuple(spec.key for spec in WORKLOADS)
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.run", description="Compare scoring engines.")
    add = parser.add_argument
    add("--model", default=BUNDLED_MODEL, help="model reference, or random:SHAPE (default: %(default)s)")
    add("--device", default="cpu", help="cpu or cuda (default: %(default)s)")
    add("--dtype", default="auto", choices=["auto", "float32", "bfloat16", "float16"])
    add("--threads", type=int, default=count_processors(), help="number of torch threads (default: %(default)s)")
    add("--workloads", nargs="*", choices=keys, help="workloads to run (default: all)")
    add("--seconds", type=float, help="seconds of a repetition, about (default: 6, or 0.6 with --quick)")
    add("--repetitions", type=int, help="number of repetitions (default: 5, or 3 with --quick)")
    add("--quick", action="store_true", help="two workloads, short repetitions")
    add("--write", action="store_true", help="write the tables into docs/performance.md")
    options = parser.parse_args(arguments)
    options.workloads = options.workloads or (_QUICK if options.quick else keys)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.6 if options.quick else 6.0)
    return options


class Bench:
    """Workloads on one model, in a number format and, as the reference, in float32."""

    def __init__(self, family: ModelFamily, dtype: torch.dtype, options: argparse.Namespace) -> None:
        gc.collect()
        self._family, self._options = family, options
        self.float32 = family.load(torch.float32)
        self.loaded = self.float32 if dtype == torch.float32 else family.load(dtype)
        self._exact = {engine.name: engine for engine in _lens_engines(self.float32, EXECUTORS)}
        # A wrong mask differs from rounding only in float32. In 16 bits an executor may use another kernel.
        self.lens = list(_lens_engines(self.loaded, [name for name in EXECUTORS if name in self._exact]))

    def show(self, spec: WorkloadSpec, work: Work) -> str:
        """Measure all engines on a workload: a table."""
        _say(f"{spec.key}: {spec.title}, {self._family.name}")
        found = compare_engines(
            [*self.lens, *self._rivals(work)],
            work,
            seconds=self._options.seconds,
            repetitions=self._options.repetitions,
            say=_say,
        )
        lines = [f"**{spec.key}**, {spec.title}; `{self._family.name}`, which runs {self.lens[0].name}.", ""]
        rows = [COLUMNS, ["---"] * len(COLUMNS), *self._rows(found, work)]
        return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows), ""])

    def _rivals(self, work: Work) -> Iterator[Engine]:
        if has_harness():
            _say("  looking for the best batch size of lm-evaluation-harness")
            yield tune_harness(self.loaded, work, 16 if self._options.quick else LARGEST_BATCH)

    def _rows(self, contestants: Sequence[Contestant], work: Work) -> Iterator[list[str]]:
        """The rows of the table, each with the largest difference of its engine from plain in float32."""
        part = work.part(2, 1 if self._options.quick else 3)
        expected = self._exact["plain"].prepare(part)()
        for one in contestants:
            delta, exact = (
                largest_delta(engine.prepare(part)(), expected) for engine in (one.engine, self._in_float32(one.engine))
            )
            yield one.row(delta, exact)

    def _in_float32(self, engine: Engine) -> Engine:
        is_ours = isinstance(engine, LensEngine)
        return self._exact[engine.name] if is_ours else replace(engine, loaded=self.float32)


def _lens_engines(loaded: LoadedModel, executors: Sequence[ExecutorName]) -> Iterator[LensEngine]:
    """Our executors, without those that are wrong for this model in this number format."""
    for executor in executors:
        try:
            yield LensEngine.over(loaded, executor)
        except ModelError as error:
            _say(f"  {loaded.dtype}: {error}")


def describe_machine(device: torch.device) -> str:
    """A sentence. The load tells whether other processes were in the way."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    processor = f"{found[1] if found else platform.machine()}, {torch.get_num_threads()} threads"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor
    versions = {name: find_version(name) for name in ("torch", "transformers", "lm-eval")}
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return f"{name}; {packages}; load {os.getloadavg()[0]:.2f} when it began."


def write_section(name: str, content: str, page: Path = PAGE) -> None:
    """Replace the text between the markers of section `name`.

    Raises:
        ValueError: the page has no such markers.
    """
    text = page.read_text("utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page.name} has no section {begin} … {end}; add these markers to it")
    page.write_text(f"{before}{begin}\n\n{content.strip()}\n\n{end}{after}", "utf-8")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
