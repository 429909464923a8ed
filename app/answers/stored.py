"""Parts of a stored result and of a stored classifier, for what needs no more of them."""

from app.lifecycle.spec import StoredPart
from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.classifier.classifier import InputFormat
from lens_engine.classifier.heads import HeadKind
from lens_engine.config import Use
from lens_engine.result import Provenance, SupportExamples
from lens_engine.retrieval.pool import PromptForm
from lens_engine.task.record import TaskRecord
from lens_engine.types import HeadlineKind


class PromptPart(StoredPart):
    """What production reads of a result. The names are those of `SelectionResult`."""

    partial: bool
    task: TaskRecord
    support_examples: tuple[SupportExamples, ...]
    first: HeadlineKind
    provenance: Provenance
    most_tokens: int | None = None
    opening_tokens: int = 0

    def answer_for(self, use: Use | None) -> SupportExamples:
        """As `SelectionResult.answer_for`."""
        return next((one for one in self.support_examples if use in (None, one.use)), self.support_examples[0])


class SuspiciousPart(StoredPart):
    """The rows of a result whose label is probably wrong."""

    suspicious_labels: tuple[SuspiciousLabel, ...]


class HeadPart(StoredPart):
    """The kind of a head, without its coefficients."""

    kind: HeadKind


class RetrievalPart(StoredPart):
    """How demonstrations are found, without the rows."""

    form: PromptForm


class ClassifierPart(StoredPart):
    """A classifier without its prompts and coefficients."""

    head: HeadPart
    task: TaskRecord
    retrieval: RetrievalPart | None = None
    input: InputFormat | None
