"""What is judged: the prompt or the classifier of a result, or a classifier's file; and which rows judge it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lens_cli.subject_file import SubjectFile

if TYPE_CHECKING:  # the command imports this module for its help, and these are slow to import
    from lens_engine.classifier.classifier import Classifier
    from lens_engine.predicting.subject import Subject
    from lens_engine.result import SelectionResult
    from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """The rows that judge."""

    examples: "tuple[Example, ...]"
    known: Mapping[int, str] = field(default_factory=dict)  #: what the selection answered, by row number
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged."""

    subject: "Subject"
    result: "SelectionResult | None" = None  #: of the selection that found it; None for a classifier's file

    @classmethod
    def read(cls, file: SubjectFile) -> "Judged":
        """Raises: as `SubjectFile.read`."""
        return cls(*file.read())

    @property
    def asked(self) -> "Classifier":
        from lens_engine.predicting.subject import classifier_of

        return classifier_of(self.subject)

    @property
    def name(self) -> str:
        """What is judged, in a few words."""
        from lens_engine.predicting.subject import PromptSubject

        if isinstance(self.subject, PromptSubject):
            form = self.subject.answer.form
            what = f"prompt ({form.name})" if form.nearest else "support examples"
            return f"The {what}, read for the use {self.subject.answer.use}"
        return f"The classifier ({self.subject.head.kind.replace('_', ' ')} head)"

    def choose_rows(self, examples: "Sequence[Example]") -> JudgedRows:
        """The test rows of the selection, with what it answered, if these are its rows; else all of them."""
        from lens_engine.predicting.subject import OPTIMISTIC, known_answers
        from lens_engine.rows.problem import digest_examples

        rows = tuple(examples)
        if self.result is None:
            return JudgedRows(rows)
        made_of, answers, digest = self.result.provenance, self.result.test_answers, digest_examples(rows)
        if not answers.rows or digest != (made_of.test_sha256 or made_of.dataset_sha256):
            return JudgedRows(rows, notes=(OPTIMISTIC,) if digest == made_of.dataset_sha256 else ())
        tested = set(answers.rows)
        chosen = tuple(one for one in rows if one.row in tested)
        what = "test rows of the selection" if made_of.test_sha256 else "rows of the selection"
        only = f"these are the {what}; the {len(chosen):,} of {len(rows):,} on which it was tested are judged"
        return JudgedRows(chosen, known_answers(self.result, self.subject), () if len(chosen) == len(rows) else (only,))
