"""Candidates for the classifier, and the choice among them."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.fitting import first_within_an_error
from lens_engine.classifier.heads import HeadKind, find_states_head
from lens_engine.classifier.quality import Quality
from lens_engine.classifier.suspicion import SuspiciousLabel
from lens_engine.config import Objective
from lens_engine.types import FloatArray, Pooling, Record

CandidateName = Literal["bag_of_words", "embeddings", "states", "states_and_words", "label_probabilities"]


class Candidate(Record):
    """A classifier, and what it says of the common fit rows without having seen them."""

    name: CandidateName
    classifier: Classifier  #: with its quality on the test rows
    cross_validated: Quality  #: on the fit rows
    suspicious_labels: tuple[SuspiciousLabel, ...] = ()  #: among the rows on which it was cross-validated
    tested: tuple[int, ...] = ()  #: index of the predicted label of each test row
    tested_probabilities: tuple[float, ...] = ()  #: of these
    losses: tuple[float, ...]  #: loss of each fit row (nats), under a head that was fitted without the row's fold
    macro_f1_values: tuple[float, ...] = ()  #: macro-F1 of the same answers as values of the fit rows; see `value_rows`

    @property
    def price(self) -> tuple[float, int]:
        """Tokens an input, then tokens held."""
        return self.classifier.tokens_per_input, self.classifier.tokens_held

    def list_losses(self, objective: Objective) -> FloatArray:
        """`[fit_rows]`, values whose mean is the less, the better the candidate."""
        return np.array(self.losses) if objective == "accuracy" else -np.array(self.macro_f1_values)


class TestedClassifier(Record):
    """A candidate for the classifier, as the result shows it."""

    __test__ = False  # pytest would collect the class

    name: CandidateName = Field(
        description="What the classifier reads. bag_of_words: the words of a text. embeddings: its sentence "
        "embedding. states: a hidden state of the model. states_and_words: the state and the words. "
        "label_probabilities: the probabilities of the label words."
    )
    is_chosen: bool = Field(description="Whether it is the classifier to use.")
    prompts: int = Field(description="Number of prompts asked for one input.")
    demonstrations: int = Field(description="Number of demonstrations in a prompt.")
    head: HeadKind = Field(description="Kind of the head.")
    layer: int | None = Field(None, description="Decoder layer that is read, from 1; null but for states.")
    pooling: Pooling | None = Field(None, description="State that is read; null but for states.")
    fit_rows: int = Field(description="Number of rows on which the head was fitted.")
    tokens_per_input: float = Field(description="Mean number of tokens computed for one input.")
    tokens_held: int = Field(description="Number of tokens of the prompt's demonstrations, computed once.")
    cross_validated: Quality = Field(description="Quality on the fit rows by cross-validation, which decides.")
    test: Quality | None = Field(description="Quality on the test rows.")

    @classmethod
    def of(cls, candidate: Candidate, *, is_chosen: bool) -> "TestedClassifier":
        classifier = candidate.classifier
        head = classifier.head
        states = find_states_head(head)
        return cls(
            name=candidate.name,
            is_chosen=is_chosen,
            prompts=len(classifier.prompts),
            demonstrations=len(classifier.prompts[0].rows) if classifier.prompts else 0,
            head=head.kind,
            layer=None if states is None else states.layer,
            pooling=None if states is None else states.pooling,
            fit_rows=classifier.fit_rows,
            tokens_per_input=classifier.tokens_per_input,
            tokens_held=classifier.tokens_held,
            cross_validated=candidate.cross_validated,
            test=classifier.test,
        )


def choose_candidate(candidates: Sequence[Candidate], objective: Objective = "accuracy") -> Candidate | None:
    """The cheapest within one standard error of the best, paired by row; None without any.

    The best has the lowest cross-validated log-loss, or for the objective `macro_f1` the highest macro-F1. A bag of
    words is cheaper than embeddings, which ask no language model either.

    Args:
        candidates: judged on the same fit rows.
    """
    if not candidates:
        return None
    by_price = sorted(candidates, key=lambda one: (one.price, one.name != "bag_of_words"))
    return by_price[first_within_an_error([one.list_losses(objective) for one in by_price])]
