"""How does the cost of a run grow with the number of candidates?

A tiny random model with the packed executor shows the cost of whole runs. A scorer of almost no cost shows the
engine alone, by its parts. python -m benchmarks.studies.scaling
"""

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from benchmarks.measuring.cheap_scorer import CheapScorer
from benchmarks.measuring.power_law import fit_power_law
from benchmarks.report.page import PAGE, markdown_table, write_study
from benchmarks.report.records import describe_machine
from benchmarks.workloads.texts import make_problem
from lens_engine.config import SelectionConfig
from lens_engine.metering.meter import Meter
from lens_engine.metering.progress import Progress
from lens_engine.methods.lens.beam import Neighbourhood
from lens_engine.methods.lens.filtering import Filter
from lens_engine.methods.lens.infoscore import contributions
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import SINGLE_PROMPT, overlay_options, resolve_config
from lens_engine.pricing.estimate import measure_lengths
from lens_engine.rows.cleaning import clean_problem
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.rows.splits import split_examples
from lens_engine.run.state import RunState
from lens_engine.scoring.base import LabelScorer
from lens_engine.testing import tiny_causal_lm
from lens_engine.types import Phase, StopReason

SIZES = (500, 1000, 2000, 4000, 8000)
ENGINE_SIZES = (2000, 4000, 8000, 16_000, 32_000)

PLOT = PAGE.parent / "images" / "scaling.svg"

_PLOTTED = {"filter_seconds": "CPU seconds of filtering", "tokens": "tokens of filtering"}
_MEASURED = ("pairs", "tokens", "filter_seconds", "seconds")
_ROWS_OF_OTHER_SPLITS = 1000
_CHARACTERS = 40
"""Characters of each text. Equal lengths make the tokens independent of the texts in a small score set."""
_CONTEXT = 8192  # the tiny tokenizer makes a token of almost every letter

_PARTS: dict[str, Callable[..., object]] = {
    "splits": split_examples,
    "of these: duplicates and conflicts": clean_problem,
    "prompts that fit the context": fit_to_context,
    "mean lengths": measure_lengths,
    "digest of the examples": digest_examples,
    "scores, and what they are counted by": Meter.score,
    "contributions": contributions,
    "ranking": Filter.rank,
    "checkpoints": RunState.to_checkpoint,
    "children": Neighbourhood.children,
}
"""Parts of the engine that are timed. A part inside another counts in both."""


@dataclass
class FilterClock:
    """A listener that notes CPU seconds, pairs and tokens at the end of filtering."""

    started: float = field(default_factory=time.process_time)
    seconds: float = 0.0
    pairs: int = 0
    tokens: int = 0

    def on_progress(self, progress: Progress) -> None:
        if progress.phase is Phase.FILTER:
            self.seconds = time.process_time() - self.started
            self.pairs, self.tokens = progress.pairs_done, progress.tokens_done

    def stop_requested(self) -> StopReason | None:
        return None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run."""

    candidates: int
    pairs: int  #: of filtering
    tokens: int  #: of filtering
    filter_seconds: float  #: CPU seconds until the end of filtering
    seconds: float  #: CPU seconds of the whole run


def make_run(candidates: int) -> tuple[Problem, SelectionConfig]:
    """Rounds and search are the same whatever the number of candidates.

    With the number of rounds fixed, the score set grows by (N / keep)^(1/3) a round. Its limit is large enough for
    every size.
    """
    config = resolve_config(
        "quick",
        overlay_options(
            SINGLE_PROMPT,
            {
                "splits": {"validation": 16, "confirmation": 0, "test": 16},
                "filtering": {
                    "candidates": candidates,
                    "keep": 64,
                    "rounds": 3,
                    "initial_score_size": 4,
                    "max_score_size": 512,
                },
                "search": {"beam_width": 2, "children": 3, "iterations": 2},
            },
        ),
    )
    problem = make_problem("reviews", candidates + _ROWS_OF_OTHER_SPLITS)
    examples = [replace(example, text=f"{example.text[:_CHARACTERS]} {example.row}") for example in problem.examples]
    return Problem(problem.task, examples), config


def measure(candidates: int, scorer: LabelScorer) -> Measurement:
    """One whole run."""
    problem, config = make_run(candidates)
    clock = FilterClock()
    select_support_examples(problem, scorer, config, listener=clock)
    seconds = time.process_time() - clock.started
    return Measurement(candidates, clock.pairs, clock.tokens, clock.seconds, seconds)


def profile_engine(candidates: int) -> dict[str, float]:
    """CPU seconds of each part of the engine in a run whose scorer costs next to nothing; the profiler adds its own."""
    problem, config = make_run(candidates)
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(select_support_examples, problem, CheapScorer(), config)
    spent = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # (file, line, name) -> calls, ..., cumulative, _
    whole = spent[_key(select_support_examples)][3]
    return {"whole run": whole} | {name: spent[_key(part)][3] for name, part in _PARTS.items()}


def study(sizes: Sequence[int], engine_sizes: Sequence[int], scorer: LabelScorer) -> dict[str, Any]:
    """Whole runs with this scorer, and the engine alone, as JSON holds them."""
    measure(min(sizes), scorer)  # warm-up
    profile_engine(min(engine_sizes))
    runs = [measure(size, scorer) for size in sizes]
    profiles = {size: profile_engine(size) for size in engine_sizes}
    return {
        "runs": [asdict(run) for run in runs],
        "exponents": {name: _exponent(sizes, [getattr(run, name) for run in runs]) for name in _MEASURED},
        "engine": profiles,
        "engine_exponents": {
            name: _exponent(engine_sizes, [profiles[size][name] for size in engine_sizes])
            for name in profiles[engine_sizes[0]]
        },
    }


def _exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    return fit_power_law(sizes, values).exponent


def _key(function: Callable[..., object]) -> tuple[str, int, str]:
    code: CodeType = function.__code__
    return code.co_filename, code.co_firstlineno, code.co_name


def scaling_section(measured: Mapping[str, Any]) -> str:
    """Two tables: whole runs, and the parts of the engine."""
    exponents, parts = measured["exponents"], measured["engine_exponents"]
    runs = [
        [
            f"{run['candidates']:,}",
            f"{run['pairs']:,}",
            f"{run['tokens']:,}",
            f"{run['filter_seconds']:.1f}",
            f"{run['seconds']:.1f}",
        ]
        for run in measured["runs"]
    ]
    runs.append(["exponent", *(f"{exponents[name]:.2f}" for name in _MEASURED)])
    sizes = list(measured["engine"])
    engine = [
        [name, *(f"{measured['engine'][size][name]:.3f}" for size in sizes), f"{exponent:.2f}"]
        for name, exponent in parts.items()
    ]
    return (
        markdown_table(["candidates", "pairs", "tokens", "CPU s, filtering", "CPU s, whole run"], runs)
        + "\nThe engine alone, CPU seconds under a profiler, by number of candidates:\n\n"
        + markdown_table(["part", *(f"{int(size):,}" for size in sizes), "exponent"], engine)
        + f"\n![Cost over the number of candidates]({PLOT.relative_to(PAGE.parent).as_posix()})\n"
    )


def draw_plot(measured: Mapping[str, Any], file: Path = PLOT) -> None:
    """CPU seconds and tokens of filtering over N, on logarithmic axes, each with its power law."""
    from matplotlib.figure import Figure

    file.parent.mkdir(parents=True, exist_ok=True)
    sizes = [run["candidates"] for run in measured["runs"]]
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, 2), _PLOTTED.items(), strict=True):
        values = [run[name] for run in measured["runs"]]
        law = fit_power_law(sizes, values)
        axes.loglog(sizes, values, "o")
        axes.loglog(sizes, [law(size) for size in sizes], "-", label=f"N^{law.exponent:.2f}")
        axes.set(xlabel="candidates N", ylabel=title)
        axes.legend()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.studies.scaling", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="candidates of whole runs")
    parser.add_argument("--engine-sizes", type=int, nargs="+", default=ENGINE_SIZES, help="candidates, engine alone")
    options = parser.parse_args()
    torch.set_num_threads(1)  # CPU seconds of several threads include waiting
    machine = describe_machine(torch.device("cpu"))
    scorer = tiny_causal_lm("llama", max_position_embeddings=_CONTEXT).scorer("packed")
    measured = study(options.sizes, options.engine_sizes, scorer)
    draw_plot(measured)
    write_study("scaling", machine, measured, scaling_section(measured))


if __name__ == "__main__":
    main()
