"""The candidates for the classifier: fitted on the same rows, and cross-validated.

Their prompt is the best judged set. Rows of the fit had a part in choosing it, which no fold repeats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lens_engine.classifier.bag_of_words import FittedWords, fit_bag_of_words
from lens_engine.classifier.candidates import Candidate, CandidateName, find_suspicious
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt
from lens_engine.classifier.fitting import (
    can_fit_states,
    fit_embeddings_head,
    fit_prompts_head,
    fit_states_head,
    fit_words_weight,
)
from lens_engine.classifier.heads import (
    ArgmaxHead,
    BagOfWordsHead,
    EmbeddingsHead,
    Head,
    PriorHead,
    StatesAndWordsHead,
    find_states_head,
)
from lens_engine.classifier.quality import RowFigures
from lens_engine.metering.meter import Meter
from lens_engine.method.judgement import EvaluationRows
from lens_engine.method.permutations import draw_permutations
from lens_engine.method.setup import Setup
from lens_engine.prompt.embedder import Embedder, find_embedder
from lens_engine.prompt.record import TaskRecord
from lens_engine.rows.dealing import index_rows, pick_fit_rows
from lens_engine.types import POOLINGS, Example, FloatArray, LabelLogProbs, StoredLogProbs

_LAYER_SHARES = (0.53, 0.67)
"""Layers whose states are candidates, as shares of the model's layers."""


@dataclass(frozen=True)
class Classifying:
    """Makes candidates for the classifier."""

    setup: Setup
    meter: Meter

    def bag_of_words(self) -> list[Candidate]:
        """The words of the labelled rows. It asks the model nothing."""
        words = self._words
        head = BagOfWordsHead(bag_of_words=words.regression)
        return [self._candidate("bag_of_words", (), head, words.held_out, self.setup.rows.labelled, words.num_rows)]

    def embeddings(self) -> list[Candidate]:
        """Sentence embeddings of the fit rows. It asks no language model."""
        embedder, rows = self._embedder, self._pick_rows(())
        if embedder is None or not can_fit_states(len(rows), len(self.setup.task.labels)):
            return []
        vectors = embedder.embed(rows.texts)
        head, held_out = fit_embeddings_head(vectors, rows.gold, len(self.setup.task.labels), embedder.record)
        return [self._candidate("embeddings", (), head, held_out, rows.examples)]

    def states(self, demonstrations: Sequence[Example]) -> list[Candidate]:
        """Hidden states of the query after the prompt with these demonstrations, alone and with the bag of words.

        None with too few fit rows. The bag of words joins if it is a candidate itself.
        """
        prefix, num_labels = self.setup.task.render_prefix(demonstrations), len(self.setup.task.labels)
        rows = self._pick_rows(demonstrations)
        if not can_fit_states(len(rows), num_labels):
            return []
        layers = tuple(sorted({max(round(share * self.meter.scorer.num_layers), 1) for share in _LAYER_SHARES}))
        found = self.meter.states(prefix, rows.queries, layers)
        fitted = fit_states_head(found, layers, rows.gold, num_labels)
        head, prompts = fitted.head, (demonstrations,)
        assert head.kind == "states"
        alone = self._candidate("states", prompts, head, fitted.held_out, rows.examples)
        if self.setup.config.classifier.kind != "auto":
            return [alone]
        weight, held_out = fit_words_weight(fitted.held_out, self._hold_out_words(rows), rows.gold)
        pool = StatesAndWordsHead(states=head, bag_of_words=self._words.regression, words_weight=weight)
        return [alone, self._candidate("states_and_words", prompts, pool, held_out, rows.examples)]

    def label_probabilities(self, demonstrations: Sequence[Example]) -> list[Candidate]:
        """The label log-probabilities after the prompt with these demonstrations."""
        prefixes, rows = [self.setup.task.render_prefix(demonstrations)], self._pick_rows(demonstrations)
        head, held_out = fit_prompts_head(self.meter.score(prefixes, rows.queries), rows.gold)
        return [self._candidate("label_probabilities", (demonstrations,), head, held_out, rows.examples)]

    def test(self, one: Candidate) -> RowFigures:
        """What is measured of the answers to the test rows."""
        classifier, rows = one.classifier, EvaluationRows(self.setup.task, self.setup.rows.test)
        if isinstance(classifier.head, BagOfWordsHead):
            return classifier.head.bag_of_words.judge(rows.texts, rows.gold)
        if isinstance(classifier.head, EmbeddingsHead):
            assert self._embedder is not None
            return RowFigures.of(classifier.head.class_log_probs(self._embedder.embed(rows.texts)), rows.gold)
        (prompt,) = classifier.prompts
        head, states = classifier.head, find_states_head(classifier.head)
        if states is None:
            assert isinstance(head, ArgmaxHead | PriorHead)
            scores = self.meter.score([prompt.demonstrations], rows.queries)
            return RowFigures.of(head.class_log_probs(scores), rows.gold)
        found = self.meter.states(prompt.demonstrations, rows.queries, (states.layer,))
        features = found[0, POOLINGS.index(states.pooling)].astype(np.float64)
        if isinstance(head, StatesAndWordsHead):
            return RowFigures.of(head.class_log_probs(features, rows.texts), rows.gold)
        return RowFigures.of(states.class_log_probs(features), rows.gold)

    @cached_property
    def random_set(self) -> tuple[Example, ...]:
        """Demonstrations drawn at random."""
        rows, setup = self.setup.rows.proposable, self.setup
        (drawn,) = draw_permutations(rows, setup.task, setup.rows.quotas, setup.config.seed, 1)
        return tuple(rows[index] for index in drawn)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return find_embedder(self.setup.config.classifier.embeddings)

    @cached_property
    def _words(self) -> FittedWords:
        """The bag of words of the labelled rows."""
        task, labelled = self.setup.task, self.setup.rows.labelled
        return fit_bag_of_words([example.text for example in labelled], task.index_labels(labelled), len(task.labels))

    def _hold_out_words(self, rows: EvaluationRows) -> FloatArray:
        """What the bag of words says of these rows without having seen them  # [rows, labels]."""
        places = index_rows(self.setup.rows.labelled)
        own = self._words.held_out[[places[example.row] for example in rows.examples]]
        return own.astype(np.float64, copy=False)

    def _pick_rows(self, demonstrations: Sequence[Example]) -> EvaluationRows:
        """Rows that are not in the prompt."""
        shown, total = {example.row for example in demonstrations}, self.setup.config.classifier.fit_rows
        return EvaluationRows(self.setup.task, pick_fit_rows(self.setup.rows, shown, total))

    def _candidate(
        self,
        name: CandidateName,
        prompts: Sequence[Sequence[Example]],
        head: Head,
        held_out: FloatArray | LabelLogProbs,
        examples: Sequence[Example],
        num_fitted: int | None = None,
    ) -> Candidate:
        """A candidate; `held_out`: `[examples, labels]`, of heads that were fitted without the example."""
        setup, task = self.setup, self.setup.task
        rendered = [task.render_prefix(prompt) for prompt in prompts]
        classifier = Classifier(
            task=TaskRecord.of(task, setup.rows.left_out),
            prompts=tuple(
                Prompt(rows=tuple(example.row for example in prompt), demonstrations=prefix)
                for prompt, prefix in zip(prompts, rendered, strict=True)
            ),
            head=head,
            fit_rows=len(examples) if num_fitted is None else num_fitted,
            model=ModelRecord.of(self.meter.scorer.identity) if prompts else None,
            tokens_per_input=setup.prices.lengths.query if prompts else 0.0,
            most_tokens=setup.bounds[0] if prompts else None,
            tokens_held=sum(self.meter.lengths.count(one) for prefix in rendered for one in prefix),
        )
        places = index_rows(examples)
        judged = [one.row for one in setup.rows.columns if one.row in places]
        return Candidate(
            name=name,
            classifier=classifier,
            rows=tuple(judged),
            log_probs=StoredLogProbs.of(held_out[[places[row] for row in judged]].astype(np.float32)),
            suspicious_labels=find_suspicious(
                held_out, task.index_labels(examples), [example.row for example in examples], task.labels
            ),
        )
