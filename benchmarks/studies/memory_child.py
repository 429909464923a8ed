"""One scenario of the study of memory, in a process of its own: python -m benchmarks.studies.memory_child '{...}'."""

import json
import sys
from dataclasses import asdict, dataclass

from benchmarks.measuring.cheap_scorer import CheapScorer
from benchmarks.measuring.resident_memory import forget_peak, peak_bytes, resident_bytes
from benchmarks.workloads.texts import corpus_task
from lens_engine.config import SelectionConfig
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import resolve_config
from lens_engine.reading import read_examples
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.scoring.base import LabelScorer

_HELD_TOKENS = 32_000
"""Tokens of held prefixes: some 700 MiB of keys and values of the bundled model, more than an executor holds."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a process does with an upload."""

    title: str
    file: str  #: JSON Lines, of the corpus "reviews"
    model: str | None = None  #: None for the engine alone
    model_every: int = 1  #: calls of the scorer for one that the model answers; the others get random numbers
    runs: bool = True  #: False for what the API process does: parse, check the splits


@dataclass(frozen=True, slots=True)
class Footprint:
    """Resident bytes of a process."""

    loaded: int  #: modules and model, before the upload is read
    peak_loading: int
    peak: int  #: of all that came after loading
    is_exact: bool  #: the peak was reset after loading; otherwise `peak` may be that of loading

    @property
    def added(self) -> int:
        return self.peak - self.loaded


def run(scenario: Scenario) -> Footprint:
    model = None if scenario.model is None else _load(scenario.model)
    loaded, peak_loading, is_exact = resident_bytes(), peak_bytes(), forget_peak()
    task = corpus_task("reviews")
    examples = tuple(read_examples(scenario.file))
    problem, config = Problem(task, examples), _config()
    if not scenario.runs:
        split_examples(problem, config)
    else:
        if model is not None:
            _fill_held_prefixes(model, problem, config.num_demonstrations)
        select_support_examples(problem, CheapScorer(model, scenario.model_every), config, progress=False)
    return Footprint(loaded, peak_loading, peak_bytes(), is_exact)


def _fill_held_prefixes(model: LabelScorer, problem: Problem, num_demonstrations: int) -> None:
    """Let the executor hold as many prefixes between calls as in a search with this model."""
    task, examples = problem.task, problem.examples
    tokens = start = 0
    while tokens < _HELD_TOKENS:
        prefix = task.render_prefix(examples[start : start + num_demonstrations])
        model.score([prefix], [task.render_query(examples[-1].text)], task.label_spans)
        tokens += sum(model.count_tokens(prefix))
        start += num_demonstrations


def _config() -> SelectionConfig:
    """The preset "paper" on all rows, without prompts that are too long for the context."""
    return resolve_config("paper", {"too_long": "skip_example"})


def _load(model: str) -> LabelScorer:
    import torch

    from lens_engine.language_model.loading.load import load_scorer

    torch.set_num_threads(1)
    return load_scorer(model, dtype="bfloat16", device="cpu")


def main() -> None:
    scenario = Scenario(**json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps(asdict(run(scenario))))


if __name__ == "__main__":
    main()
