"""The figures that stand first: of the classifier, of word counting, of the prompt."""

from typing import Literal

from pydantic import Field

from lens_engine.classifier.candidates import Candidate, TestedClassifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.result.parts import BestAnswer
from lens_engine.result.selection_result import SelectionResult
from lens_engine.types import Record

HeadlineKind = Literal["classifier", "words", "prompt"]


class Headline(Record):
    """How often one way to answer is right on the test rows."""

    kind: HeadlineKind = Field(description="classifier: it reads the model. words: word counting, without a model.")
    test: Accuracy = Field(description="Accuracy on the test rows.")
    tokens: float | None = Field(None, description="Mean number of tokens for one text; null for the prompt.")


def find_chosen(result: SelectionResult) -> TestedClassifier | None:
    """The classifier to use; None without one."""
    return next((one for one in result.tested if one.is_chosen), None)


def find_first(result: SelectionResult) -> HeadlineKind:
    """What to use first: the classifier to use where it is ahead of the prompt, else the prompt."""
    chosen, prompt = find_chosen(result), result.test
    if chosen is None:
        return "prompt"
    if chosen.test is None or prompt is None or not result.answer.recommended:
        return kind_of(chosen)
    # Where both are level, what needs no language model comes first, then what needs no weights.
    return "words" if kind_of(chosen) == "words" and chosen.test.accuracy >= prompt.accuracy else "prompt"


def kind_of(classifier: TestedClassifier | BestAnswer | Candidate) -> HeadlineKind:
    """Word counting, or a classifier that reads the model."""
    return "words" if classifier.name == "bag_of_words" else "classifier"


def list_headlines(result: SelectionResult) -> tuple[Headline, ...]:
    """What to use first, then the others, the most often right first; empty for a run that tested nothing."""
    found = [
        Headline(kind=kind_of(one), test=_plain(one.test), tokens=one.tokens_per_input)
        for one in result.tested
        if one.test is not None and (one.is_chosen or kind_of(one) == "words")
    ]
    if result.test is not None:
        found.append(Headline(kind="prompt", test=_plain(result.test)))
    first = find_first(result)
    return tuple(sorted(found, key=lambda one: (one.kind != first, -one.test.accuracy)))


def _plain(test: Accuracy) -> Accuracy:
    return Accuracy(**{name: getattr(test, name) for name in Accuracy.model_fields})
