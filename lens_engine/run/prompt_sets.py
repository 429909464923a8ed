"""The prompts of the ensemble and of its rivals, each with its price.

All are given the same rows, the same choice of size and head, and the same budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lens_engine.classifier.ensemble import order_members
from lens_engine.classifier.tested import ClassifierName
from lens_engine.judging.judgement import EvaluationRows
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.methods.base import Findings, Method, Run
from lens_engine.methods.permutations import draw_permutation
from lens_engine.methods.random import RandomTally, draw_pool, draw_random
from lens_engine.plan.comparisons import COMPARISONS
from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import count_labels, share_equally
from lens_engine.task.template import Task
from lens_engine.types import Example, LabelLogProbs, Permutation

_ROOM = 8
"""Tokens kept free in the context."""


@dataclass(frozen=True)
class PromptSet:
    """Prompts, in the order in which an ensemble takes them."""

    prompts: tuple[tuple[Example, ...], ...]
    fit_rows: int  #: number of rows on which the head is fitted; see `pick_fit_rows`
    known: LabelLogProbs | None = None  #: `[prompts, rows, labels]` on the validation rows, if they were judged


@dataclass(frozen=True)
class PromptSets:
    """The prompt sets of a run whose search was charged with `charged_pairs` (permutation, row) pairs."""

    run: Run
    method: Method[Any]
    charged_pairs: int
    num_confirmed: int

    @property
    def size(self) -> int:
        """Number of prompts of a rival."""
        return self.run.config.classifier.max_prompts

    @property
    def is_paper(self) -> bool:
        """Whether the ensemble is the single prompt with the paper's head, which needs no fit."""
        return self.size == 1 and self.run.config.classifier.head == "argmax"

    @property
    def wanted(self) -> list[ClassifierName]:
        """The rivals with a head that the options ask for, in order of importance; none if the classifier has none."""
        has_rival = self.method.planned_pairs is not None
        possible: dict[ClassifierName, bool] = {
            "zero_shot_head": True,
            "random_ensemble": has_rival,
            "random_prompts": has_rival,
            "long_prompt": self.method.num_demonstrations > 0,
        }
        asked = COMPARISONS[self.run.config.comparisons].names
        return [name for name, is_possible in possible.items() if is_possible and name in asked and not self.is_paper]

    @property
    def num_random(self) -> int:
        """Number of random permutations that random-and-validation judges at equal budget."""
        return self.run.prices.rival_permutations(self.charged_pairs, self.num_confirmed)

    def price(self, name: ClassifierName) -> Cost:
        """The most that fitting and testing a prompt set costs.

        Prompts that share demonstrations leave more rows for the fit, so the prompts count as if they shared all.
        """
        prices, n = self.run.prices, self.method.num_demonstrations
        num_validation = len(self.run.rows.validation)
        if name == "ensemble":
            new = 0 if self.is_paper else prices.fit_rows(n) - num_validation * self.method.judges_prompts
            return prices.classifying(self.method.num_prompts, new, n)
        if name == "zero_shot_head":
            return prices.classifying(1, prices.fit_rows(0), 0)
        if name == "random_ensemble":
            return prices.classifying(self.size, prices.fit_rows(n) - num_validation, n)
        if name == "random_prompts":
            return prices.classifying(self.size, prices.fit_rows(n, self._rows_without_search), n)
        return prices.classifying(1, prices.fit_rows(0), self.size * n)  # the context may cut the long prompt

    def make(self, name: ClassifierName, findings: Findings, chosen: Permutation, tally: RandomTally) -> PromptSet:
        """The prompts of this classifier.

        Args:
            findings: of the method; its pool holds the prompts of the ensemble.
            chosen: the single prompt, which is the ensemble if the method has no pool.
            tally: of random-and-validation.
        """
        total = self.run.config.classifier.fit_rows
        if name == "ensemble":
            return self._own(findings, chosen, total)
        if name == "zero_shot_head":
            return PromptSet(((),), total)
        if name == "random_ensemble":
            if tally.pool_log_probs is None:
                raise RuntimeError("random-and-validation kept no label log-probabilities")
            return self._choose_members(draw_pool(self.run, tally), tally.pool_log_probs.array, total)
        if name == "random_prompts":
            return PromptSet(self._pick(draw_random(self.run, 0, self.size)), self._rows_without_search)
        return PromptSet((self._draw_long(),), total)

    def fit_to_context(self, prompts: PromptSet, meter: Meter) -> PromptSet:
        """The prompt set with each prompt cut, from its end, so that all rows it must be asked for fit the context."""
        task, rows = self.run.task, self.run.rows
        asked = (*rows.validation, *rows.confirmation, *rows.test)
        queries = [task.render_query(example.text) for example in asked]
        meter.learn_lengths(queries)
        room = count_room(task, meter) - max(map(meter.count_tokens, queries))
        cut = list[tuple[Example, ...]]()
        for prompt in prompts.prompts:
            lengths = np.cumsum([meter.count_tokens(task.render_demonstration(example)) for example in prompt])
            cut.append(prompt[: int((lengths <= room).sum())])
        return PromptSet(tuple(cut), prompts.fit_rows, prompts.known)

    @property
    def _rows_without_search(self) -> int:
        """Number of fit rows that the budget of search and ensemble buys for random prompts."""
        prices, size = self.run.prices, self.size
        fit_rows = prices.fit_rows(size * self.method.num_demonstrations)
        return fit_rows + self.num_random * len(self.run.rows.validation) // size

    def _own(self, findings: Findings, chosen: Permutation, total: int) -> PromptSet:
        if self.is_paper or not findings.pool:
            return PromptSet(self._pick([chosen]), total)
        if findings.pool_log_probs is None:
            return PromptSet(self._pick(findings.pool[: self.size]), total)
        return self._choose_members(findings.pool, findings.pool_log_probs, total)

    def _choose_members(self, pool: Sequence[Permutation], log_probs: LabelLogProbs, total: int) -> PromptSet:
        gold = EvaluationRows(self.run.task, self.run.rows.validation).gold
        members = list(order_members(log_probs, gold, self.size, self.run.config.classifier.head))
        return PromptSet(self._pick([pool[one] for one in members]), total, log_probs[members])

    def _pick(self, permutations: Sequence[Permutation]) -> tuple[tuple[Example, ...], ...]:
        candidates = self.run.rows.candidates
        return tuple(tuple(candidates[index] for index in permutation) for permutation in permutations)

    def _draw_long(self) -> tuple[Example, ...]:
        """One random prompt with as many demonstrations as the ensemble's prompts together, label-balanced."""
        rows, task = self.run.rows, self.run.task
        number = min(self.size * self.method.num_demonstrations, len(rows.candidates))
        labels = task.index_labels(rows.candidates)
        quotas = share_equally(number, count_labels(rows.candidates, task.labels))
        rng = make_generator(self.run.config.seed, "long prompt")
        permutation = draw_permutation(labels, tuple(quotas.values()), rng)
        return tuple(rows.candidates[index] for index in permutation)


def count_room(task: Task, meter: Meter) -> int:
    """Room for the demonstrations and the query of a prompt (tokens): the context less the longest label span."""
    return meter.scorer.max_prompt_tokens - max(map(meter.count_tokens, task.label_spans)) - _ROOM
