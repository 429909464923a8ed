"""The figures that stand first: of the classifier, of word counting, of the prompt."""

from pydantic import Field

from lens_engine.classifier.candidates import Candidate, TestedClassifier
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.result.parts import Contender, Estimate
from lens_engine.result.selection_result import SelectionResult
from lens_engine.types import HeadlineKind, Record


class Headline(Record):
    """What to expect of one way to answer."""

    kind: HeadlineKind = Field(description="classifier: it reads the model. words: word counting, without a model.")
    expected: Accuracy = Field(description="Accuracy on the test rows, or else the estimate.")
    tokens: float | None = Field(None, description="Mean number of tokens for one text; null for the prompt.")


def find_chosen(result: SelectionResult) -> TestedClassifier | None:
    """The classifier to use; None without one."""
    return next((one for one in result.tested if one.is_chosen), None)


def kind_of(one: TestedClassifier | Candidate | Contender) -> HeadlineKind:
    """A prompt, word counting, or another classifier."""
    if isinstance(one, Contender):
        return "prompt" if one.kind == "prompt" else _kind_of_classifier(one.method)
    return _kind_of_classifier(one.name)


def _kind_of_classifier(name: str) -> HeadlineKind:
    return "words" if name == "bag_of_words" else "classifier"


def find_estimate(result: SelectionResult, kind: HeadlineKind) -> Estimate | None:
    """What the run expects of the prompt, or of the classifier to use; None for what it did not choose."""
    if kind == "prompt":
        return result.answer.estimate
    chosen = find_chosen(result)
    return result.classifier_estimate if chosen is not None and kind_of(chosen) == kind else None


def find_test(result: SelectionResult, kind: HeadlineKind) -> Quality | None:
    """Quality of the prompt, the classifier to use, or word counting on the test rows; None if it was not tested."""
    if kind == "prompt":
        return result.answer.test
    found = (one.test for one in result.tested if kind_of(one) == kind and (one.is_chosen or kind == "words"))
    return next(found, None)


def find_quality(result: SelectionResult, kind: HeadlineKind) -> Quality | None:
    """Quality of the prompt or the classifier to use, with its thresholds: on test rows, or else as it was judged."""
    chosen = find_chosen(result)
    if kind == "prompt":
        return result.answer.test or result.answer.judged
    return None if chosen is None or kind_of(chosen) != kind else chosen.test or chosen.cross_validated


def is_tested(result: SelectionResult) -> bool:
    """Whether the first choice has test rows, of which all figures are then."""
    return find_test(result, result.first) is not None


def find_expected(result: SelectionResult, kind: HeadlineKind) -> Accuracy | None:
    """The figure of the test rows if the first choice has one, or else what the run expects; None if it is not known.

    Word counting that was not chosen is one contender, so its figure on the judging rows has no optimism of a choice.
    """
    if is_tested(result):
        return find_test(result, kind)
    judged = (one.judged for one in result.contenders if kind == "words" and kind_of(one) == kind)
    return find_estimate(result, kind) or next(judged, None)


def list_headlines(result: SelectionResult) -> tuple[Headline, ...]:
    """What to use first, then the others, the most often right first; empty for a run that judged nothing."""
    found = list[Headline]()
    tokens = {kind_of(one): one.tokens_per_input for one in result.tested if one.is_chosen or kind_of(one) == "words"}
    kinds: tuple[HeadlineKind, ...] = ("classifier", "words", "prompt")
    for kind in kinds:
        if (expected := find_expected(result, kind)) is not None:
            found.append(Headline(kind=kind, expected=expected, tokens=tokens.get(kind)))
    return tuple(sorted(found, key=lambda one: (one.kind != result.first, -one.expected.accuracy)))
