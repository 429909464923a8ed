"""The figures that stand first: of the classifier, of word counting, of the prompt."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from lens_engine.classifier.quality import Accuracy
from lens_engine.types import Record

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult

HeadlineKind = Literal["classifier", "words", "prompt"]


class Headline(Record):
    """How often one way to answer is right on the test rows."""

    kind: HeadlineKind = Field(description="classifier: it reads the model. words: word counting, without a model.")
    test: Accuracy = Field(description="Accuracy on the test rows.")
    tokens: float | None = Field(None, description="Mean number of tokens for one text; null for the prompt.")


def list_headlines(result: "SelectionResult") -> tuple[Headline, ...]:
    """What to use first, then the others, the most often right first; empty for a run that tested nothing."""
    found = list[Headline]()
    for one in result.tested:
        if one.test is not None and (one.is_chosen or one.name == "bag_of_words"):
            kind: HeadlineKind = "words" if one.name == "bag_of_words" else "classifier"
            found.append(Headline(kind=kind, test=_plain(one.test), tokens=one.tokens_per_input))
    if result.test is not None:
        found.append(Headline(kind="prompt", test=_plain(result.test)))
    best = result.answer.best
    chosen = next((one.name for one in result.tested if one.is_chosen), None)
    if best is not None and best.name == chosen:
        first: HeadlineKind = "words" if chosen == "bag_of_words" else "classifier"
    else:
        first = "classifier" if best is None and chosen not in (None, "bag_of_words") else "prompt"
    return tuple(sorted(found, key=lambda one: (one.kind != first, -one.test.accuracy)))


def _plain(test: Accuracy) -> Accuracy:
    return Accuracy(**{name: getattr(test, name) for name in Accuracy.model_fields})
