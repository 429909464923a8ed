"""The figures that stand first: of the classifier, of word counting, of the prompt."""

from typing import Literal, NamedTuple

from pydantic import Field

from lens_engine.classifier.candidates import Candidate, TestedClassifier
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.result.parts import BestAnswer
from lens_engine.result.selection_result import SelectionResult
from lens_engine.types import IndexArray, Record

HeadlineKind = Literal["classifier", "words", "prompt"]


class Headline(Record):
    """How often one way to answer is right on the test rows."""

    kind: HeadlineKind = Field(description="classifier: it reads the model. words: word counting, without a model.")
    test: Accuracy = Field(description="Accuracy on the test rows.")
    tokens: float | None = Field(None, description="Mean number of tokens for one text; null for the prompt.")


class Tested(NamedTuple):
    """A prompt or a classifier on the test rows."""

    kind: HeadlineKind
    name: str  #: method of the prompt, or name of the candidate
    test: Quality
    answers: IndexArray  #: `[test_rows]`
    is_chosen: bool  #: whether it is the prompt, or the classifier, to use


def find_chosen(result: SelectionResult) -> TestedClassifier | None:
    """The classifier to use; None without one."""
    return next((one for one in result.tested if one.is_chosen), None)


def find_first(result: SelectionResult) -> HeadlineKind:
    """What to use first: of the classifier to use and the prompt the more often right on the test rows."""
    chosen, prompt, objective = find_chosen(result), result.test, result.objective
    if chosen is None:
        return "prompt"
    kind = kind_of(chosen)
    if chosen.test is None or prompt is None or result.answer.recommended is False:
        return kind
    own, rival = chosen.test.figure(objective), prompt.figure(objective)
    # Where both are level, what needs no language model comes first, then what needs no weights.
    return kind if own > rival or (own == rival and kind == "words") else "prompt"


def find_test(result: SelectionResult, kind: HeadlineKind) -> Quality | None:
    """How often the prompt, the classifier to use, or word counting is right; None if it was not tested."""
    if kind == "prompt":
        return result.test
    found = (one for one in result.tested if kind_of(one) == kind and (one.is_chosen or kind == "words"))
    return next((one.test for one in found), None)


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
