"""Propose: the prompts that are compared, written down before a judging row is asked.

A prompt is wording × examples: none, a set in an order, rows like the input, or both. Sets come from LENS where there
are search rows, and beside them, or without them, from random draws. Each further contender costs optimism and rows,
so there are some 25 to 60.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.method.diversity import Affinity, exchange
from lens_engine.method.permutations import draw_permutation, draw_permutations, shuffle
from lens_engine.method.setup import Findings, Setup
from lens_engine.prompt.embedder import find_embedder
from lens_engine.prompt.index import ExampleIndex
from lens_engine.prompt.pool import PromptForm
from lens_engine.prompt.template import Task
from lens_engine.randomness import make_generator
from lens_engine.rows.context import SPARE_TOKENS
from lens_engine.rows.quotas import count_labels, share_equally, take_quotas
from lens_engine.types import Example

NEAREST = (4, 8, 16)
"""Numbers of nearest rows that are tried alone; the last without a search, after which a set with 8 is better."""

NEAREST_AFTER_FIXED = 8
"""Number of nearest rows that are tried after a set."""

MANY = (32, 64)
"""Sizes of large sets, which are computed once, or read from a server's cache."""

_MOST_EMBEDDED = 2_000
"""Number of labelled rows from which on the index by embeddings would take minutes."""

_AFTER_SEARCH = 4
"""After a search there are this many times fewer drawn sets."""


@dataclass(frozen=True)
class Proposal:
    """A prompt to judge."""

    name: str
    method: str  #: as `Contender.method`
    wording: int = 0  #: place in `Setup.tasks`
    form: PromptForm = PromptForm()
    rows: tuple[Example, ...] = ()  #: fixed demonstrations, in order

    @property
    def num_demonstrations(self) -> int:
        return len(self.rows) + self.form.nearest


def propose(setup: Setup, findings: Findings, meter: Meter | None) -> tuple[Proposal, ...]:
    """The prompts to judge, the most promising first: a budget may end the judging.

    Without a meter, which knows the lengths of texts, every prompt is taken to fit the context.
    """
    proposed = tuple(_propose(setup, findings))
    if meter is None:
        return proposed
    rulers = [_Ruler(setup, task, meter) for task in setup.tasks]
    return tuple(one for one in proposed if rulers[one.wording].fits(one))


def _propose(setup: Setup, findings: Findings) -> Iterator[Proposal]:
    rows, forms, wordings = setup.rows, setup.config.search.forms, range(len(setup.tasks))
    sets = [*_list_found(setup, findings), *_draw_sets(setup)]
    if "fixed" in forms:
        yield from sets
    yield from (Proposal(_name("no examples", one), "zero_shot", one) for one in wordings)
    pool_size = len(rows.labelled) - 1
    if "nearest" in forms:
        numbers = NEAREST[:-1] if rows.search and "fixed+nearest" in forms else NEAREST
        for k in (k for k in numbers if k <= pool_size):
            form = PromptForm(kind="nearest", nearest=k)
            for wording in wordings if k == NEAREST[1] else wordings[:1]:
                yield Proposal(_name(f"{k} nearest", wording), "nearest", wording, form)
        embedder = find_embedder(setup.config.classifier.embeddings) if pool_size < _MOST_EMBEDDED else None
        if embedder is not None and NEAREST[1] <= pool_size:
            form = PromptForm(kind="nearest", nearest=NEAREST[1], embedder=embedder.record)
            yield Proposal(f"{NEAREST[1]} nearest by embeddings", "nearest", form=form)
    if "fixed" in forms:
        yield from _draw_large(setup)
    if "fixed+nearest" in forms and sets:
        base, k = sets[0], NEAREST_AFTER_FIXED
        if k + len(base.rows) <= pool_size:
            form = PromptForm(kind="fixed+nearest", nearest=k)
            yield Proposal(f"{base.name} + {k} nearest", base.method, base.wording, form, base.rows)


def _name(name: str, wording: int) -> str:
    return f"{name}, wording {wording + 1}" if wording else name


def _list_found(setup: Setup, findings: Findings) -> Iterator[Proposal]:
    """What LENS found; the best of it in every wording."""
    for place, permutation in enumerate(findings.finalists):
        examples = tuple(setup.lens_rows.candidates[index] for index in permutation)
        for wording in range(len(setup.tasks) if place == 0 else 1):
            yield Proposal(_name(f"LENS {place + 1}", wording), "lens", wording, rows=examples)


def _draw_sets(setup: Setup) -> Iterator[Proposal]:
    """Random sets and, without a search, spread ones; in each wording in turn."""
    rows, number, seen = setup.rows.proposable, setup.config.search.sets, set[tuple[int, ...]]()
    num_random = max(number // _AFTER_SEARCH, 1) if setup.rows.search else number - number // 2
    random = draw_permutations(rows, setup.task, setup.rows.quotas, setup.config.seed, num_random)
    spread = () if setup.rows.search else _draw_spread(setup, number // 2)
    for place, pair in enumerate(zip_longest(random, spread), start=1):
        for method, permutation in zip(("random", "spread"), pair, strict=True):
            if permutation is not None and permutation not in seen:
                wording, examples = (place - 1) % len(setup.tasks), tuple(rows[index] for index in permutation)
                seen.add(permutation)
                yield Proposal(_name(f"{method} {place}", wording), method, wording, rows=examples)


def _draw_spread(setup: Setup, number: int) -> Iterator[tuple[int, ...]]:
    """Sets whose members are as unlike each other as a local search finds, by the words of their texts."""
    rows = setup.rows.proposable
    texts = [one.text for one in rows]
    similarity = ExampleIndex.of(texts).similarities(texts)
    groups, quotas = setup.rows.quotas.group(setup.task.index_labels(rows))
    affinity = Affinity(np.zeros(len(rows)), np.where(np.eye(len(rows), dtype=bool), 0.0, similarity))
    for place in range(number):
        rng = make_generator(setup.config.seed, "spread", place)
        members = draw_permutation(groups, quotas, rng)
        allowed = np.flatnonzero(rng.random(len(rows)) < 0.5)  # with all rows most starts end in the same few optima
        yield shuffle(exchange(affinity, members, groups, allowed), rng)


def _draw_large(setup: Setup) -> Iterator[Proposal]:
    """Large label-balanced sets, of rows that do not judge; if all do, of at most half of them, and of a label."""
    rows, labels = (*setup.rows.search, *setup.rows.rest) or setup.rows.judging, setup.task.labels
    order = make_generator(setup.config.seed, "many").permutation(len(rows))
    counts = count_labels(rows, labels)
    shares = counts if setup.rows.search else {label: max(count // 2, 1) for label, count in counts.items()}
    for size in MANY:
        if setup.rows.quotas.num_demonstrations < size <= sum(shares.values()):
            taken, _ = take_quotas((rows[place] for place in order), share_equally(size, shares), lambda one: one.label)
            mixed = make_generator(setup.config.seed, "many", size).permutation(size)
            yield Proposal(f"{size} examples", "many", rows=tuple(taken[place] for place in mixed))


@dataclass(frozen=True)
class _Ruler:
    """Measures the prompts of one wording (tokens)."""

    setup: Setup
    task: Task
    meter: Meter

    def fits(self, one: Proposal) -> bool:
        """Whether the longest possible prompt fits the context. Ordinary sets fit: the texts were cut to that end."""
        if one.num_demonstrations <= self.setup.rows.quotas.num_demonstrations and one.form.kind == "fixed":
            return True
        fixed = sum(self._count(self.task.render_prefix(one.rows)))
        needed = sum(self._found[: one.form.nearest]) + fixed + self._rest
        return needed <= self.meter.scorer.max_prompt_tokens - SPARE_TOKENS

    @cached_property
    def _found(self) -> list[int]:
        """Lengths of the rows that may be found for an input, the longest first."""
        return sorted(self._count(list(map(self.task.render_demonstration, self.setup.pool.examples))), reverse=True)

    @cached_property
    def _rest(self) -> int:
        """Length of the longest query with the longest label span."""
        queries = [self.task.render_query(row.text) for row in (*self.setup.rows.judging, *self.setup.rows.test)]
        return max(self._count(queries)) + max(self._count(self.task.label_spans))

    def _count(self, segments: Sequence[str]) -> list[int]:
        self.meter.lengths.learn(segments)
        return [self.meter.lengths.count(segment) for segment in segments]


def price_prompt(setup: Setup, one: Proposal, num_rows: int) -> Cost:
    """The cost of a prompt on this many rows."""
    if one.form.nearest:
        return setup.prices.judging_pairs(num_rows, one.form.nearest, len(one.rows))
    return setup.prices.judging(1, num_rows, one.num_demonstrations)
