"""What is judged: support examples or the classifier of a result, or a classifier's file; and which rows judge it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from lens_cli.refusals import RefusedInput
from lens_engine.config import Use

if TYPE_CHECKING:  # the command imports this module for its help, and these are slow to import
    from lens_engine.classifier.classifier import Classifier
    from lens_engine.predicting.subject import Subject
    from lens_engine.result import SelectionResult
    from lens_engine.types import Example

WhatIsJudged = Literal["support_examples", "classifier"]


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

    @property
    def asked(self) -> "Classifier":
        from lens_engine.predicting.subject import classifier_of

        return classifier_of(self.subject)

    @property
    def name(self) -> str:
        """What is judged, in a few words."""
        from lens_engine.predicting.subject import PromptSubject

        if isinstance(self.subject, PromptSubject):
            return f"The support examples, read for the use {self.subject.answer.use}"
        return f"The classifier ({self.subject.head.kind.replace('_', ' ')} head)"

    def choose_rows(self, examples: "Sequence[Example]") -> JudgedRows:
        """The test rows of the selection, with what it answered, if these are its rows; else all of them."""
        from lens_engine.predicting.subject import OPTIMISTIC, known_answers
        from lens_engine.rows.problem import digest_examples

        rows = tuple(examples)
        if self.result is None:
            return JudgedRows(rows)
        made_of, answers, digest = self.result.provenance, self.result.test_answers, digest_examples(rows)
        if answers is None or not answers.rows or digest != (made_of.test_sha256 or made_of.dataset_sha256):
            return JudgedRows(rows, notes=(OPTIMISTIC,) if digest == made_of.dataset_sha256 else ())
        tested = set(answers.rows)
        chosen = tuple(one for one in rows if one.row in tested)
        what = "test rows of the selection" if made_of.test_sha256 else "rows of the selection"
        only = f"these are the {what}; the {len(chosen):,} of {len(rows):,} on which it was tested are judged"
        return JudgedRows(chosen, known_answers(self.result, self.subject), () if len(chosen) == len(rows) else (only,))


def read_judged(path: Path, what: WhatIsJudged | None, use: Use | None) -> Judged:
    """Read a file that `lens select` wrote.

    Args:
        what: what of a result is judged; None for its support examples.
        use: use of the support examples; None for that of the run.

    Raises:
        Refusal, InvalidInput: the file holds nothing of the kind.
        OSError: the file cannot be read.
    """
    from lens_engine.classifier.classifier import Classifier
    from lens_engine.predicting.subject import PromptSubject
    from lens_engine.result import SelectionResult
    from lens_engine.result.of_prompt import classifier_of_prompt

    is_classifier = _is_classifier(path)
    if use is not None and (is_classifier or what == "classifier"):
        raise RefusedInput("a classifier has one use; leave --use out", "where: --use")
    if is_classifier and what == "support_examples":
        raise RefusedInput(
            f"{path} is a classifier, without support examples; name a file of lens select --output", "where: WHAT"
        )
    if is_classifier:
        return Judged(Classifier.load(path))
    try:
        result = SelectionResult.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RefusedInput(
            f"{path} is neither a result of lens select --output nor a classifier", "where: WHAT"
        ) from error
    if what != "classifier":
        return Judged(PromptSubject(answer=result.answer_for(use), asked=classifier_of_prompt(result, use)), result)
    if result.classifier is None:
        raise RefusedInput(f"{path} has no classifier: {result.verdict.sentence}", "where: --prompts")
    return Judged(result.classifier, result)


def _is_classifier(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "head" in found
