"""Candidates for the classifier."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import HeadKind, find_states_head
from lens_engine.classifier.quality import Quality, gold_losses
from lens_engine.classifier.regression import list_blocks
from lens_engine.types import FloatArray, HeadlineKind, IndexArray, LabelLogProbs, Pooling, Record, StoredLogProbs

MOST_SUSPICIOUS = 200
"""Largest number of rows that a result lists."""


# Northcutt, Jiang & Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels" (JAIR 2021): a row counts as
# another label if the probability of that label is at least its mean probability over the rows that have it. Here it is
# also the likeliest: the mean of a rare label may be a few per cent.
class SuspiciousLabel(Record):
    """A row that the classifier contradicts with confidence."""

    row: int = Field(description="Number of the data row in the dataset, counted from 0.")
    label: str = Field(description="Label of the row.")
    likelier: str = Field(description="Label that the classifier finds likelier.")
    probability: float = Field(description="Probability of the row's label.")
    probability_of_likelier: float = Field(description="Probability of the likelier label.")


def find_suspicious(
    class_log_probs: FloatArray | LabelLogProbs, gold: IndexArray, rows: Sequence[int], labels: Sequence[str]
) -> tuple[SuspiciousLabel, ...]:
    """The most suspicious rows, by the probability of the likelier label less that of their own.

    Args:
        class_log_probs: `[rows, labels]`, under heads that were fitted without the row.
        gold: `[rows]`, index of each row's label; `rows` has their numbers in the dataset.
    """
    own = np.exp(-gold_losses(class_log_probs, gold)).astype(np.float64)
    thresholds = np.full(len(labels), np.inf)  # nothing counts as a label that no row has
    for index in np.unique(gold):
        thresholds[index] = own[gold == index].mean()
    found, highest = np.empty(len(gold), dtype=np.intp), np.empty(len(gold))
    for block in list_blocks(len(gold)):
        probabilities = np.exp(class_log_probs[block])
        found[block], highest[block] = probabilities.argmax(axis=1), probabilities.max(axis=1)
        highest[block][highest[block] < thresholds[found[block]]] = -1.0
    gaps = highest - own
    is_suspicious = (highest > 0.0) & (found != gold) & (gaps > 0.0)
    ranked: list[int] = np.flatnonzero(is_suspicious).tolist()
    ranked.sort(key=lambda place: (-gaps[place], rows[place]))
    return tuple(
        SuspiciousLabel(
            row=rows[place],
            label=labels[gold[place]],
            likelier=labels[found[place]],
            probability=float(own[place]),
            probability_of_likelier=float(highest[place]),
        )
        for place in ranked[:MOST_SUSPICIOUS]
    )


CandidateName = Literal["bag_of_words", "embeddings", "states", "states_and_words", "label_probabilities"]
WITHOUT_MODEL: tuple[str, ...] = ("bag_of_words", "embeddings")
"""Those that ask no language model: they come first, no budget leaves them out, and test rows are asked of each."""

_TITLES: dict[CandidateName, str] = {
    "bag_of_words": "words",
    "embeddings": "embeddings",
    "states": "states",
    "states_and_words": "states and words",
    "label_probabilities": "label probabilities",
}


class Candidate(Record):
    """A classifier, and what it says of judging and search rows without having seen them."""

    name: CandidateName
    classifier: Classifier
    rows: tuple[int, ...]  #: numbers of the rows of which it says something, in their order
    log_probs: StoredLogProbs  #: class_log_probs  # [rows, labels], under a head that was fitted without the row's fold
    suspicious_labels: tuple[SuspiciousLabel, ...] = ()  #: among the rows on which it was cross-validated

    @property
    def demonstrations(self) -> int:
        """Number of demonstrations in its prompt."""
        return len(self.classifier.prompts[0].rows) if self.classifier.prompts else 0

    @property
    def title(self) -> str:
        """A name that no other candidate of a run has."""
        name = _TITLES[self.name]
        return f"{name}, {self.demonstrations or 'no'} examples" if self.classifier.prompts else name


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
    cross_validated: Quality = Field(
        description="Quality on the judging and search rows by cross-validation, which decides."
    )
    test: Quality | None = Field(description="Quality on the test rows; null if it was not asked for them.")

    @property
    def headline(self) -> HeadlineKind:
        """Word counting, or another classifier."""
        return "words" if self.name == "bag_of_words" else "classifier"

    @classmethod
    def of(
        cls, candidate: Candidate, cross_validated: Quality, test: Quality | None, *, is_chosen: bool
    ) -> "TestedClassifier":
        classifier = candidate.classifier
        head = classifier.head
        states = find_states_head(head)
        return cls(
            name=candidate.name,
            is_chosen=is_chosen,
            prompts=len(classifier.prompts),
            demonstrations=candidate.demonstrations,
            head=head.kind,
            layer=None if states is None else states.layer,
            pooling=None if states is None else states.pooling,
            fit_rows=classifier.fit_rows,
            tokens_per_input=classifier.tokens_per_input,
            tokens_held=classifier.tokens_held,
            cross_validated=cross_validated,
            test=test,
        )
