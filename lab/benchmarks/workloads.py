"""The work that engines are compared on: prefixes, queries and label words, as texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from lab.benchmarks.texts import Corpus, corpus_task, generate_examples
from lens_engine.model.base import Prefix
from lens_engine.prompt.template import Task
from lens_engine.types import Example

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """The shape of a workload."""

    key: str
    title: str
    corpus: Corpus
    demonstrations: int  #: in each prefix
    prefixes: int
    queries: int


WORKLOADS = (
    WorkloadSpec("W1-14", "stage 1: 512 demonstrations × 14 queries", "reviews", 1, 512, 14),
    WorkloadSpec("W1-56", "stage 1: 512 demonstrations × 56 queries", "reviews", 1, 512, 56),
    WorkloadSpec("W2", "stage 2: 64 permutations of 8 × 100 queries", "reviews", 8, 64, 100),
    WorkloadSpec("W3", "long texts: 32 permutations of 8 × 100 queries", "news", 8, 32, 100),
    WorkloadSpec("W4", "14 labels of several tokens: 32 permutations of 4 × 56 queries", "articles", 4, 32, 56),
)


@dataclass(frozen=True, slots=True)
class Work:
    """Every prefix with every query: P × Q pairs."""

    prefixes: tuple[Prefix, ...]
    queries: tuple[str, ...]
    label_spans: tuple[str, ...]

    @property
    def num_pairs(self) -> int:
        return len(self.prefixes) * len(self.queries)

    def part(self, num_prefixes: int, num_queries: int) -> "Work":
        """A part with these numbers of prefixes and queries, spread evenly over their lengths; always the same one."""
        return replace(
            self,
            prefixes=_spread(self.prefixes, [sum(map(len, prefix)) for prefix in self.prefixes], num_prefixes),
            queries=_spread(self.queries, [len(query) for query in self.queries], num_queries),
        )


def build_work(spec: WorkloadSpec) -> Work:
    """The texts of a workload.

    Queries and demonstrations are different rows. Each prefix has its own random permutation.
    """
    num_candidates = max(spec.prefixes, 8 * spec.demonstrations)
    examples = generate_examples(spec.corpus, num_candidates + spec.queries)
    task = corpus_task(spec.corpus)
    candidates, rows = examples[:num_candidates], examples[num_candidates:]
    return Work(
        prefixes=tuple(_draw_prefixes(spec, task, candidates, np.random.default_rng(0))),
        queries=tuple(task.render_query(example.text) for example in rows),
        label_spans=task.label_spans,
    )


def part_of_pairs(work: Work, pairs: float, *, whole_prefixes: bool) -> Work:
    """A part of about `pairs` pairs: fewer prefixes with all queries, or some queries of one prefix if allowed."""
    num_queries = len(work.queries)
    if whole_prefixes or pairs >= num_queries:
        return work.part(min(max(round(pairs / num_queries), 1), len(work.prefixes)), num_queries)
    return work.part(1, max(round(pairs), 1))


def _draw_prefixes(
    spec: WorkloadSpec, task: Task, candidates: Sequence[Example], rng: np.random.Generator
) -> list[Prefix]:
    if spec.demonstrations == 1:
        return [task.render_prefix([example]) for example in candidates[: spec.prefixes]]
    drawn = (rng.permutation(len(candidates))[: spec.demonstrations] for _ in range(spec.prefixes))
    return [task.render_prefix([candidates[index] for index in permutation]) for permutation in drawn]


def _spread(items: tuple[_Item, ...], lengths: Sequence[int], count: int) -> tuple[_Item, ...]:
    """`count` of the items, at evenly spaced ranks of length, in their own order."""
    if count >= len(items):
        return items
    ranked = sorted(range(len(items)), key=lambda index: lengths[index])
    ranks = ((2 * number + 1) * len(items) // (2 * count) for number in range(count))
    return tuple(items[index] for index in sorted(ranked[rank] for rank in ranks))
