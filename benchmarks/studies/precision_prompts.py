"""The prompts that are scored in each number format: those of filtering and those of the search."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.methods.permutations import draw_permutation
from lens_engine.presets import resolve_config
from lens_engine.randomness import make_generator
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.scoring.base import Prefix
from lens_engine.task.template import Task
from lens_engine.types import Example, IndexArray


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of examples and permutations to score."""

    candidates: int = 64
    score_examples: int = 32
    permutations: int = 16
    rows: int = 64


@dataclass(frozen=True)
class Prompts:
    """One-shot prompts as in filtering, and permutations as in the search."""

    task: Task
    candidates: tuple[Example, ...]
    score_set: tuple[Example, ...]
    prefixes: tuple[Prefix, ...]  #: of the permutations
    rows: tuple[Example, ...]

    @classmethod
    def draw(cls, task: Task, examples: Sequence[Example], sizes: Sizes, num_demonstrations: int) -> "Prompts":
        config = resolve_config(
            "quick",
            {
                "num_demonstrations": num_demonstrations,
                "splits": {"validation": sizes.rows, "confirmation": 0, "test": max(len(task.labels), 4)},
                "filtering": {
                    "candidates": sizes.candidates,
                    "keep": sizes.candidates,
                    "rounds": 1,
                    "initial_score_size": sizes.score_examples,
                    "max_score_size": sizes.score_examples,
                },
            },
        )
        split = split_examples(Problem(task, examples), config)
        groups, quotas = split.quotas.group(task.index_labels(split.candidates))
        rng = make_generator(config.seed, "precision")
        permutations = [draw_permutation(groups, quotas, rng) for _ in range(sizes.permutations)]
        prefixes = tuple(task.render_permutations(split.candidates, permutations))
        return cls(task, split.candidates, split.score_set, prefixes, split.validation)

    def part(self, sizes: Sizes) -> "Prompts":
        """The first prompts of each kind."""
        return Prompts(
            self.task,
            self.candidates[: sizes.candidates],
            self.score_set[: sizes.score_examples],
            self.prefixes[: sizes.permutations],
            self.rows[: sizes.rows],
        )

    def gold(self, examples: Sequence[Example]) -> IndexArray:
        return np.array([self.task.label_indices[example.label] for example in examples], dtype=np.intp)
