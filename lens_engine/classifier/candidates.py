"""Candidates for the classifier."""

from typing import Literal

from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import HeadKind, find_states_head
from lens_engine.classifier.quality import Quality
from lens_engine.classifier.suspicion import SuspiciousLabel
from lens_engine.types import Pooling, Record, StoredLogProbs

CandidateName = Literal["bag_of_words", "embeddings", "states", "states_and_words", "label_probabilities"]

_TITLES: dict[CandidateName, str] = {
    "bag_of_words": "words",
    "embeddings": "embeddings",
    "states": "states",
    "states_and_words": "states and words",
    "label_probabilities": "label probabilities",
}


class Candidate(Record):
    """A classifier, and what it says of judging rows without having seen them."""

    name: CandidateName
    classifier: Classifier
    rows: tuple[int, ...]  #: numbers of the judging rows of which it says something, in their order
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

    @property
    def price(self) -> tuple[float, int]:
        """Tokens an input, then tokens held."""
        return self.classifier.tokens_per_input, self.classifier.tokens_held


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
    cross_validated: Quality = Field(description="Quality on the judging rows by cross-validation, which decides.")
    test: Quality | None = Field(description="Quality on the test rows; null if it was not asked for them.")

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
