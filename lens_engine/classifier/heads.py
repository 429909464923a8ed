"""Heads: from what the language model says of a text, or from its words, to class probabilities.

On the label log-probabilities of a prompt: `argmax` is the paper's, the label words' probabilities as they are. `prior`
takes out the prompt's bias towards some labels.

`states` is logistic regression on a hidden state of the model, `embeddings` on a vector that an embedder gives. The
head `bag_of_words` looks at the words of the text alone. `states_and_words` is a logarithmic opinion pool of states and
words (Heskes, 1998).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.classifier.bag_of_words import WordRegression
from lens_engine.classifier.regression import normalise
from lens_engine.model.limits import keep_unanswered
from lens_engine.prompt.embedder import EmbedderRecord
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Pooling, Record

PromptsHeadKind = Literal["argmax", "prior"]
HeadKind = Literal[PromptsHeadKind, "states", "bag_of_words", "embeddings", "states_and_words"]
PROMPTS_HEAD_KINDS: tuple[PromptsHeadKind, ...] = ("argmax", "prior")
"""The simpler first."""


class ArgmaxHead(Record):
    """The label words' probabilities, normalised over the labels."""

    kind: Literal["argmax"] = Field("argmax", description="Kind of the head.")
    temperature: float = Field(1.0, gt=0.0, description="Divisor of the log-probabilities; changes no prediction.")

    def class_log_probs(self, label_log_probs: LabelLogProbs | FloatArray) -> FloatArray:
        """`[prompts, rows, labels]` -> `[rows, labels]`, natural log."""
        found = normalise(mean_within_labels(label_log_probs) / self.temperature)
        return keep_unanswered(found, label_log_probs[0])


class PriorHead(Record):
    """As `argmax`, with a bias for each label that gives it its share of the fit rows."""

    kind: Literal["prior"] = Field("prior", description="Kind of the head.")
    biases: tuple[tuple[float, ...], ...] = Field(
        description="Numbers added to the label log-probabilities: a list of one for each label."
    )
    temperature: float = Field(1.0, gt=0.0, description="Divisor of the log-probabilities; changes no prediction.")

    def class_log_probs(self, label_log_probs: LabelLogProbs | FloatArray) -> FloatArray:
        """`[prompts, rows, labels]` -> `[rows, labels]`, natural log."""
        corrected = label_log_probs.astype(np.float64) + np.array(self.biases)[:, None, :]
        return keep_unanswered(normalise(mean_within_labels(corrected) / self.temperature), label_log_probs[0])


class _RegressionHead(Record):
    """Multinomial logistic regression with L2 on a vector of each text."""

    kind: str
    weights: tuple[tuple[float, ...], ...] = Field(
        description="Weights: a list for each label, a number for each dimension of the vector."
    )
    intercepts: tuple[float, ...] = Field(description="Intercept of each label.")
    inverse_l2: float = Field(gt=0.0, description="Inverse strength of the L2 penalty, chosen by cross-validation.")

    def class_log_probs(self, vectors: FloatArray | NDArray[np.float32]) -> FloatArray:
        """`[rows, size]` -> `[rows, labels]`, natural log."""
        weights, intercepts = self._arrays
        return normalise(vectors.astype(np.float64) @ weights.T + intercepts)

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.weights), np.array(self.intercepts)


class StatesHead(_RegressionHead):
    """Logistic regression on a hidden state of the language model."""

    kind: Literal["states"] = Field("states", description="Kind of the head.")
    layer: int = Field(ge=1, description="Number of the decoder layer whose output is read, from 1.")
    pooling: Pooling = Field(
        description="State that is read. last: of the query's last token. mean: the mean over the query's tokens."
    )


class EmbeddingsHead(_RegressionHead):
    """Logistic regression on sentence embeddings: the head of a classifier without prompts."""

    kind: Literal["embeddings"] = Field("embeddings", description="Kind of the head.")
    embedder: EmbedderRecord = Field(description="What gives a text its vector.")


class BagOfWordsHead(Record):
    """A bag of words: the head of a classifier without prompts."""

    kind: Literal["bag_of_words"] = Field("bag_of_words", description="Kind of the head.")
    bag_of_words: WordRegression = Field(description="TF-IDF of words with logistic regression.")


class StatesAndWordsHead(Record):
    """A logarithmic opinion pool: the weighted mean of two log-probabilities, normalised over the labels."""

    kind: Literal["states_and_words"] = Field("states_and_words", description="Kind of the head.")
    states: StatesHead = Field(description="Logistic regression on a hidden state.")
    bag_of_words: WordRegression = Field(description="TF-IDF of words with logistic regression.")
    words_weight: float = Field(ge=0.0, le=1.0, description="Weight of the bag of words, chosen by cross-validation.")

    def class_log_probs(self, states: FloatArray, texts: Sequence[str]) -> FloatArray:
        """`[rows, size]` and the rows' texts -> `[rows, labels]`, natural log."""
        by_states, by_words = self.states.class_log_probs(states), self.bag_of_words.class_log_probs(texts)
        return pool_log_probs(by_states, by_words, self.words_weight)


PromptsHead = ArgmaxHead | PriorHead
"""A head on the label log-probabilities."""

Head = Annotated[
    PromptsHead | StatesHead | BagOfWordsHead | EmbeddingsHead | StatesAndWordsHead, Field(discriminator="kind")
]


def fits_shape(head: Head, num_prompts: int, num_labels: int) -> bool:
    """Whether the head's coefficients are for this many prompts and labels."""
    if isinstance(head, BagOfWordsHead):
        return num_prompts == 0 and head.bag_of_words.fits_shape(num_labels)
    if num_prompts != (not isinstance(head, EmbeddingsHead)):
        return False
    if isinstance(head, StatesAndWordsHead):
        return fits_shape(head.states, num_prompts, num_labels) and head.bag_of_words.fits_shape(num_labels)
    if isinstance(head, StatesHead | EmbeddingsHead):
        return len(head.weights) == len(head.intercepts) == num_labels
    return isinstance(head, ArgmaxHead) or [len(row) for row in head.biases] == [num_labels]


def find_states_head(head: Head) -> StatesHead | None:
    """The part of the head that reads hidden states; None if it reads none."""
    if isinstance(head, StatesAndWordsHead):
        return head.states
    return head if isinstance(head, StatesHead) else None


def mean_within_labels(label_log_probs: LabelLogProbs | FloatArray) -> FloatArray:
    """Log-probabilities normalised over the labels, averaged over the prompts: `[prompts, rows, labels]` -> `[rows,
    labels]` float64."""
    from scipy.special import log_softmax  # slow to import

    return np.asarray(log_softmax(label_log_probs.astype(np.float64), axis=2).mean(axis=0))


def pool_log_probs(by_states: FloatArray, by_words: FloatArray, words_weight: float) -> FloatArray:
    """The logarithmic opinion pool of two `[rows, labels]` log-probabilities."""
    return normalise((1.0 - words_weight) * by_states + words_weight * by_words)


def log_label_shares(gold: IndexArray, num_labels: int) -> FloatArray:
    """`[labels]`, log of each label's share of the rows; half a row is added to each label."""
    counts = np.bincount(gold, minlength=num_labels) + 0.5
    return np.asarray(np.log(counts / counts.sum()))


def as_rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Rows as JSON holds them; adding zero makes -0.0 a 0.0, because a database may not tell them apart."""
    return tuple(tuple(row) for row in (matrix + 0.0).tolist())
