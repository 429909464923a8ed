"""The candidates for the classifier: fitted on the same rows, cross-validated, and tested on the test rows.

Their prompt is a random permutation of the candidates, so that no row of the fit had a part in choosing it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lens_engine.classifier.bag_of_words import FittedWords, fit_bag_of_words
from lens_engine.classifier.candidates import Candidate, CandidateName
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.fitting import can_fit_states, fit_prompts_head, fit_states_head, fit_words_weight
from lens_engine.classifier.heads import BagOfWordsHead, Head, StatesAndWordsHead
from lens_engine.classifier.log_probs import list_blocks
from lens_engine.classifier.macro_f1 import value_rows
from lens_engine.classifier.prompt import ModelRecord, Prompt
from lens_engine.classifier.quality import RowFigures, gold_losses, measure_figures, measure_quality
from lens_engine.classifier.suspicion import find_suspicious
from lens_engine.metering.meter import Meter
from lens_engine.rows.context import SPARE_TOKENS
from lens_engine.rows.fit_rows import list_labelled_rows, pick_fit_rows
from lens_engine.rows.splits import SplitRows
from lens_engine.scoring.no_answer import pick_answers
from lens_engine.scoring.states import require_states_scorer
from lens_engine.search.base import Run
from lens_engine.search.judgement import EvaluationRows
from lens_engine.search.random import draw_random
from lens_engine.task.record import TaskRecord
from lens_engine.types import POOLINGS, Example, FloatArray, LabelLogProbs

_LAYER_SHARES = (0.53, 0.67)
"""Layers whose states are candidates, as shares of the model's layers."""


class _UnseenRows(NamedTuple):
    """Rows of which a candidate says something without having seen them."""

    log_probs: FloatArray | LabelLogProbs  #: class_log_probs  # [rows, labels]
    examples: Sequence[Example]
    num_fitted: int  #: number of these rows on which the head was fitted


@dataclass(frozen=True)
class Classifying:
    """Makes candidates for the classifier, and tests them."""

    run: Run
    meter: Meter

    def bag_of_words(self) -> list[Candidate]:
        """The words of the labelled rows. It asks the model nothing."""
        words = self._words
        head = BagOfWordsHead(bag_of_words=words.regression)
        tested = words.regression.judge(self._test_rows.texts, self._test_rows.gold)
        judged = _UnseenRows(words.held_out, list_labelled_rows(self.run.rows), words.num_rows)
        return [self._candidate("bag_of_words", (), head, self._held_out_of_words, tested, judged)]

    def states(self, demonstrations: Sequence[Example]) -> list[Candidate]:
        """Hidden states of the query after the prompt with these demonstrations, alone and with the bag of words.

        None with too few fit rows. The bag of words joins if it is a candidate itself.
        """
        prefix, num_labels = self.run.task.render_prefix(demonstrations), len(self.run.task.labels)
        if not can_fit_states(len(self._fit_rows), num_labels):
            return []
        layers = pick_layers(require_states_scorer(self.meter.scorer).num_layers)
        fitted = fit_states_head(
            self.meter.states(prefix, self._fit_rows.queries, layers), layers, self._fit_rows.gold, num_labels
        )
        head = fitted.head
        assert head.kind == "states"
        found = self.meter.states(prefix, self._test_rows.queries, (head.layer,))[0, POOLINGS.index(head.pooling)]
        tested = self._judge_tests(head.class_log_probs(found.astype(np.float64)))
        alone = self._candidate("states", (demonstrations,), head, fitted.held_out, tested)
        if self.run.config.classifier.kind != "auto":
            return [alone]
        weight, held_out = fit_words_weight(fitted.held_out, self._held_out_of_words, self._fit_rows.gold)
        pool = StatesAndWordsHead(states=head, bag_of_words=self._words.regression, words_weight=weight)
        tested = self._judge_tests(pool.class_log_probs(found.astype(np.float64), self._test_rows.texts))
        return [alone, self._candidate("states_and_words", (demonstrations,), pool, held_out, tested)]

    def label_probabilities(self) -> list[Candidate]:
        """The label log-probabilities after the random prompt."""
        prefixes = [self.run.task.render_prefix(self.prompt)]
        head, held_out = fit_prompts_head(self.meter.score(prefixes, self._fit_rows.queries), self._fit_rows.gold)
        assert head.kind != "states"
        tested = self._judge_tests(head.class_log_probs(self.meter.score(prefixes, self._test_rows.queries)))
        return [self._candidate("label_probabilities", (self.prompt,), head, held_out, tested)]

    @cached_property
    def prompt(self) -> tuple[Example, ...]:
        """The random prompt after which label probabilities or states are read."""
        (drawn,) = draw_random(self.run, 0, 1)
        return tuple(self.run.rows.candidates[index] for index in drawn)

    @cached_property
    def _words(self) -> FittedWords:
        """The bag of words of the labelled rows."""
        task, labelled = self.run.task, list_labelled_rows(self.run.rows)
        return fit_bag_of_words([example.text for example in labelled], task.index_labels(labelled), len(task.labels))

    @cached_property
    def _held_out_of_words(self) -> FloatArray:
        """What the bag of words says of the fit rows without having seen them  # [fit_rows, labels]."""
        place_of = {example.row: place for place, example in enumerate(list_labelled_rows(self.run.rows))}
        own = self._words.held_out[[place_of[example.row] for example in self._fit_rows.examples]]
        return own.astype(np.float64, copy=False)

    @cached_property
    def _fit_rows(self) -> EvaluationRows:
        """Rows that are not in the prompt; the same for every candidate, so that their losses are paired."""
        used = {example.row for example in self.prompt}
        rows = self._without_long_rows()
        return EvaluationRows(self.run.task, pick_fit_rows(rows, used, self.run.config.classifier.fit_rows))

    def _without_long_rows(self) -> SplitRows:
        """The splits without the rows that exceed the context after the prompt.

        Validation, confirmation and test rows fit after every prompt. The others were never asked for so long a prompt.
        """
        task, rows, count = self.run.task, self.run.rows, self.meter.lengths.count
        length = sum(map(count, task.render_prefix(self.prompt)))
        span = max(map(count, task.label_spans))
        room = self.meter.scorer.max_prompt_tokens - span - SPARE_TOKENS - length

        def keep(examples: tuple[Example, ...]) -> tuple[Example, ...]:
            kept = list[Example]()
            for block in list_blocks(len(examples)):  # the meter would remember each query, and most are never asked
                queries = [task.render_query(example.text) for example in examples[block]]
                lengths = self.meter.scorer.count_tokens(queries)
                kept += [one for one, length in zip(examples[block], lengths, strict=True) if length <= room]
            return tuple(kept)

        return replace(rows, spare=keep(rows.spare), candidates=keep(rows.candidates), score_set=keep(rows.score_set))

    @cached_property
    def _test_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.test)

    def _judge_tests(self, class_log_probs: FloatArray) -> RowFigures:
        """What is measured of the answers to the test rows  # [test_rows, labels]."""
        return RowFigures.of(class_log_probs, self._test_rows.gold)

    def _candidate(
        self,
        name: CandidateName,
        prompts: Sequence[Sequence[Example]],
        head: Head,
        held_out: FloatArray,
        tested: RowFigures,
        judged: "_UnseenRows | None" = None,
    ) -> Candidate:
        """A candidate.

        Args:
            held_out: `[fit_rows, labels]`, of heads that were fitted without the row.
            judged: the rows on which the head was fitted or held out; None for the fit rows.
        """
        task, gold = self.run.task, self._fit_rows.gold
        judged = judged or _UnseenRows(held_out, self._fit_rows.examples, len(gold))
        rendered = [task.render_prefix(prompt) for prompt in prompts]
        classifier = Classifier(
            task=TaskRecord.of(task, self.run.rows.left_out),
            prompts=tuple(
                Prompt(rows=tuple(example.row for example in prompt), demonstrations=prefix)
                for prompt, prefix in zip(prompts, rendered, strict=True)
            ),
            head=head,
            fit_rows=judged.num_fitted,
            model=ModelRecord.of(self.meter.scorer.identity) if prompts else None,
            tokens_per_input=self._mean_query_tokens if prompts else 0.0,
            most_tokens=self.run.rows.most_tokens if prompts else None,
            tokens_held=sum(self.meter.lengths.count(one) for prefix in rendered for one in prefix),
            test=measure_figures(tested),
        )
        losses = tuple(gold_losses(held_out, gold).tolist())
        return Candidate(
            name=name,
            classifier=classifier,
            cross_validated=measure_quality(held_out, gold),
            suspicious_labels=find_suspicious(
                judged.log_probs,
                task.index_labels(judged.examples),
                [example.row for example in judged.examples],
                task.labels,
            ),
            tested=tuple(tested.answers.tolist()),
            tested_probabilities=tested.probabilities,
            losses=losses,
            macro_f1_values=tuple(value_rows(pick_answers(held_out, gold), gold, "macro_f1").tolist()),
        )

    @cached_property
    def _mean_query_tokens(self) -> float:
        self.meter.lengths.learn(self._test_rows.queries)
        return float(np.mean([self.meter.lengths.count(query) for query in self._test_rows.queries]))


def pick_layers(num_layers: int) -> tuple[int, ...]:
    """Numbers of the decoder layers whose states are candidates, ascending."""
    return tuple(sorted({max(round(share * num_layers), 1) for share in _LAYER_SHARES}))
