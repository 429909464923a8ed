"""From prompts to a tested classifier: score the fit rows, fit the heads, choose a size and a head, test them all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lens_engine.classifier.bag_of_words import MOST_TERMS_ALONE, fit_bag_of_words
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt, TaskRecord
from lens_engine.classifier.ensemble import Frontier, SizedHead, fit_frontier
from lens_engine.classifier.heads import HEAD_KINDS, ArgmaxHead, BagOfWordsHead, HeadKind, apply_head, logit_bias
from lens_engine.classifier.quality import measure_quality
from lens_engine.classifier.tested import FrontierPoint, HeadFigures
from lens_engine.judging.judgement import EvaluationRows, Judgement
from lens_engine.metering.meter import Meter
from lens_engine.methods.base import Run
from lens_engine.rows.fit_rows import list_labelled_rows, pick_fit_rows
from lens_engine.rows.splits import SplitRows
from lens_engine.run.prompt_sets import PromptSet, count_room
from lens_engine.scoring.base import Prefix
from lens_engine.scoring.label_tokens import find_tokens
from lens_engine.types import Example, FloatArray, IndexArray, LabelLogProbs, Permutation


class Tested(NamedTuple):
    """A classifier, which test rows it has right, and the same prompts at every size."""

    classifier: Classifier
    correct: tuple[bool, ...]
    frontier: tuple[FrontierPoint, ...]


@dataclass(frozen=True)
class Classifying:
    """Makes classifiers of prompt sets and tests them on the test rows."""

    run: Run
    meter: Meter
    test_rows: EvaluationRows

    def test(self, prompts: PromptSet, *, scores_fit_rows: bool = True) -> Tested:
        """Fit a classifier on a prompt set, and test it.

        Args:
            scores_fit_rows: whether the prompts are asked for fit rows. If not, the head is fitted on the validation
                rows that are known; if none is known, it is `argmax` as it is.

        Raises:
            Stopped: from the meter.
        """
        prefixes = [self.run.task.render_prefix(prompt) for prompt in prompts.prompts]
        fit_rows = self._fit_rows(prompts)
        if scores_fit_rows:
            fit_log_probs = self._score_fit_rows(prompts, prefixes, fit_rows)
        elif prompts.known is not None:
            fit_log_probs = prompts.known
        else:
            fit_log_probs = np.empty((len(prefixes), 0, len(self.run.task.labels)), np.float32)
        num_fit_rows = fit_log_probs.shape[1]
        frontier = fit_frontier(fit_log_probs, fit_rows.gold[:num_fit_rows], self._kinds, fit_rows.texts[:num_fit_rows])
        with self.meter.beyond_budget():
            test_log_probs = self.meter.score(prefixes[: len(frontier.fitted)], self.test_rows.queries)
        return self._tested(prompts, frontier, test_log_probs, num_fit_rows)

    def test_single(self, permutation: Permutation, judgement: Judgement) -> Tested:
        """One prompt with the paper's head as a classifier; its test rows were scored before."""
        prompts = PromptSet((tuple(self.run.rows.candidates[index] for index in permutation),), fit_rows=0)
        return self._tested(prompts, Frontier.unfitted(ArgmaxHead()), judgement.label_log_probs[None], num_fit_rows=0)

    def test_bag_of_words(self) -> Tested:
        """The classifier without prompts: the words of all labelled rows that the selection looked at."""
        task = self.run.task
        labelled = list_labelled_rows(self.run.rows, self.run.config.classifier.fit_rows)
        texts = [example.text for example in labelled]
        words = fit_bag_of_words(texts, task.index_labels(labelled), len(task.labels), MOST_TERMS_ALONE).regression
        found = words.class_log_probs(self.test_rows.texts)
        classifier = Classifier(
            task=TaskRecord.of(task),
            prompts=(),
            head=BagOfWordsHead(bag_of_words=words),
            fit_rows=len(labelled),
            model=None,
            tokens_per_input=0.0,
            test=measure_quality(found, self.test_rows.gold),
        )
        return Tested(classifier, _hits(found, self.test_rows.gold), ())

    @property
    def _kinds(self) -> Sequence[HeadKind]:
        wanted = self.run.config.classifier.head
        return HEAD_KINDS if wanted == "auto" else (wanted,)

    def _fit_rows(self, prompts: PromptSet) -> EvaluationRows:
        used = {example.row for prompt in prompts.prompts for example in prompt}
        rows = self._without_long_rows(prompts)
        return EvaluationRows(self.run.task, pick_fit_rows(rows, used, prompts.fit_rows))

    def _without_long_rows(self, prompts: PromptSet) -> SplitRows:
        """The splits without the rows that exceed the context after the longest prompt.

        Validation, confirmation and test rows fit after every prompt. The others were never asked for so long a prompt.
        """
        task, rows, count = self.run.task, self.run.rows, self.meter.count_tokens
        longest = max(sum(count(task.render_demonstration(one)) for one in prompt) for prompt in prompts.prompts)
        room = count_room(task, self.meter) - longest

        def keep(examples: tuple[Example, ...]) -> tuple[Example, ...]:
            queries = [task.render_query(example.text) for example in examples]
            self.meter.learn_lengths(queries)
            return tuple(one for one, query in zip(examples, queries, strict=True) if count(query) <= room)

        return replace(rows, spare=keep(rows.spare), candidates=keep(rows.candidates), score_set=keep(rows.score_set))

    def _score_fit_rows(
        self, prompts: PromptSet, prefixes: Sequence[Prefix], fit_rows: EvaluationRows
    ) -> LabelLogProbs:
        """`[prompts, fit_rows, labels]`; the validation rows come first and are not scored again if known."""
        if prompts.known is None:
            return self.meter.score(prefixes, fit_rows.queries)
        new = fit_rows.queries[prompts.known.shape[1] :]
        return np.concatenate([prompts.known, self.meter.score(prefixes, new)], axis=1) if new else prompts.known

    def _tested(
        self, prompts: PromptSet, frontier: Frontier, test_log_probs: LabelLogProbs, num_fit_rows: int
    ) -> Tested:
        points = tuple(
            self._point(prompts, fitted, frontier.proposed_heads[size - 1], test_log_probs[:size])
            for size, fitted in enumerate(frontier.fitted, start=1)
        )
        proposed = frontier.proposed
        classifier = self._classifier(prompts, proposed, points[proposed.size - 1], num_fit_rows)
        return Tested(classifier, _hits(self._ask(proposed, test_log_probs), self.test_rows.gold), points)

    def _ask(self, fitted: SizedHead, test_log_probs: LabelLogProbs) -> FloatArray:
        """`[test_rows, labels]`, natural log: the class log-probabilities of the first `fitted.size` prompts."""
        return apply_head(fitted.head, test_log_probs[: fitted.size], self.test_rows.texts)

    def _point(
        self,
        prompts: PromptSet,
        fitted: Sequence[SizedHead],
        proposed: SizedHead,
        test_log_probs: LabelLogProbs,
    ) -> FrontierPoint:
        return FrontierPoint(
            size=proposed.size,
            head=proposed.head.kind,
            tokens_per_input=self._count_tokens(prompts.prompts[: proposed.size]),
            test=measure_quality(self._ask(proposed, test_log_probs), self.test_rows.gold),
            heads=tuple(self._head_figures(one, test_log_probs) for one in fitted),
        )

    def _head_figures(self, fitted: SizedHead, test_log_probs: LabelLogProbs) -> HeadFigures:
        quality = measure_quality(self._ask(fitted, test_log_probs), self.test_rows.gold)
        return HeadFigures(
            head=fitted.head.kind,
            cv_log_loss=fitted.log_loss,
            accuracy=quality.accuracy,
            log_loss=quality.log_loss,
        )

    def _classifier(self, prompts: PromptSet, fitted: SizedHead, point: FrontierPoint, num_fit_rows: int) -> Classifier:
        task, scorer = self.run.task, self.meter.scorer
        label_tokens = find_tokens(scorer, task.label_spans)
        return Classifier(
            task=TaskRecord.of(task),
            prompts=tuple(
                Prompt(rows=tuple(example.row for example in prompt), demonstrations=task.render_prefix(prompt))
                for prompt in prompts.prompts[: fitted.size]
            ),
            head=fitted.head,
            fit_rows=num_fit_rows,
            model=ModelRecord.of(scorer.identity),
            tokens_per_input=point.tokens_per_input,
            test=point.test,
            logit_bias=logit_bias(fitted.head, label_tokens) if fitted.size == 1 else None,
        )

    def _count_tokens(self, prompts: Sequence[Sequence[Example]]) -> float:
        """Mean number of tokens of all prompts for one test row, each prompt with its query."""
        task = self.run.task
        in_prompts = sum(
            self.meter.count_tokens(task.render_demonstration(example)) for prompt in prompts for example in prompt
        )
        return in_prompts + len(prompts) * self._mean_query_tokens

    @cached_property
    def _mean_query_tokens(self) -> float:
        self.meter.learn_lengths(self.test_rows.queries)
        return float(np.mean([self.meter.count_tokens(query) for query in self.test_rows.queries]))


def _hits(class_log_probs: FloatArray, gold: IndexArray) -> tuple[bool, ...]:
    """Which rows are predicted right."""
    return tuple(bool(hit) for hit in class_log_probs.argmax(axis=1) == gold)
