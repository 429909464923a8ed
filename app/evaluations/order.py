"""POST …/evaluations: what is judged, on which rows, and how it is asked."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.errors import Unprocessable
from app.evaluations.presentation import present
from app.evaluations.schemas import EvaluationBody, EvaluationRequest
from app.evaluations.stored import EvaluationSpec
from app.intake.ceilings import check_asking
from app.intake.model_names import check_model_name
from app.intake.order import Desk, KnownDataset, Labelled, ValidJob
from app.intake.refusals import invalid_inputs
from app.intake.submissions import JsonSubmission, RawSubmission, name_columns, parsing_limits
from app.selections import service
from app.store.datasets import find_equal_dataset
from app.store.pools import part_pool, read_pool
from app.store.rows import weigh_answers
from app.store.tables import Job
from app.web.validation import read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.answers import join_labels
from lens_engine.evaluation.subject import (
    OPTIMISTIC,
    Changes,
    PromptSubject,
    Subject,
    check_changes,
    classifier_of,
    digest_answer,
    known_answers,
)
from lens_engine.reading import ParsedDataset, parse_inline
from lens_engine.result import SelectionResult

MOST_REORDERED = 20_000
"""Answers in other orders that one evaluation may ask for: they are not kept, so a lost attempt asks them again."""


@dataclass(frozen=True, slots=True)
class EvaluationOrder:
    """An evaluation of what a selection found."""

    selection_id: str
    kind: str = "evaluation"
    prefix: str = "ev"

    @property
    def about(self) -> str:
        return f"evaluation of {self.selection_id}"

    def validate(self, body: RawSubmission, desk: Desk) -> ValidJob:
        """Read what the selection found, the request and the rows, and check that they fit.

        Raises:
            NotFound, NotFinished, NoResult, NoClassifier: the selection does not have what is judged.
            BadRequest, ContentTooLarge, Unprocessable, RefusedInput: the body is wrong.
        """
        wanted, rows = _read(body, desk)
        with desk.session() as session:
            selection = service.get(session, desk.owner_id, self.selection_id)
            result = _read_result(desk, session, self.selection_id)
            subject = _find_subject(desk, session, self.selection_id, result, wanted)
            equal = find_equal_dataset(session, desk.owner_id, rows) if isinstance(rows, ParsedDataset) else None
        judging = _Judging(selection, result, subject, wanted, equal)
        return judging.on(rows, desk, is_inline=isinstance(body, JsonSubmission))

    def present(self, session: Session, job: Job) -> dict[str, Any]:
        return present(session, job, None).model_dump(mode="json")


def _read(body: RawSubmission, desk: Desk) -> tuple[EvaluationRequest, Labelled | None]:
    limits = parsing_limits(desk.settings)
    if not isinstance(body, JsonSubmission):
        wanted = read_model(EvaluationRequest, body.spec, "spec")
        with invalid_inputs(inline=False):
            return wanted, body.parse("dataset", limits, body.columns)
    found = read_model(EvaluationBody, body.parsed)
    if found.examples is not None:
        with invalid_inputs(inline=True):
            return found.spec, parse_inline(found.examples, limits, columns=name_columns(found.columns))
    return found.spec, None if found.dataset_id is None else desk.find_dataset(found.dataset_id, "dataset_id")


def _read_result(desk: Desk, session: Session, selection_id: str) -> SelectionResult:
    report = service.get_report(desk.services, session, desk.owner_id, selection_id)
    return SelectionResult.model_validate(report.result | {"pool": read_pool(session, selection_id)})


def _find_subject(
    desk: Desk, session: Session, selection_id: str, result: SelectionResult, wanted: EvaluationRequest
) -> Subject:
    if wanted.prompts == "classifier":
        return service.get_classifier(desk.services, session, desk.owner_id, selection_id)
    is_fixed = wanted.fixed or wanted.form is not None  # a chat holds fixed demonstrations alone
    with invalid_inputs(inline=False):
        return PromptSubject.of_result(result, wanted.use, is_fixed=is_fixed)


@dataclass(frozen=True, slots=True)
class _Judging:
    """What is judged, and how."""

    selection: Job
    result: SelectionResult
    subject: Subject
    wanted: EvaluationRequest
    equal: str | None  #: id of the stored dataset that is equal to the file

    def on(self, rows: Labelled | None, desk: Desk, *, is_inline: bool) -> ValidJob:
        """The job that judges these rows; None for the test rows of the selection."""
        asked, wanted = self._asked, self.wanted
        model = None if asked.model is None else check_model_name(wanted.model or asked.model.model, desk.settings)
        changes = Changes(
            wanted.form, wanted.num_prompts, is_other_model=asked.model is not None and model != asked.model.model
        )
        with invalid_inputs(inline=is_inline, columns=rows.columns if isinstance(rows, ParsedDataset) else None):
            check_changes(self.subject, changes)
            if rows is not None:
                join_labels(asked.labels, rows.examples)  # refuses a label that the selection did not have
        if not isinstance(self.subject, PromptSubject):
            self._refuse_wishes_of_prompts()
        places, warnings = None, list[str]()
        if rows is None:
            rows, places = self._own_rows()
        elif self._id_of(rows) == self.selection.dataset_id:
            warnings.append(f"dataset: {OPTIMISTIC}")
        num_rows = len(places) if places is not None else len(rows.examples)
        self._check_size(num_rows, model, desk)
        prompt, pool = None, None
        if isinstance(self.subject, PromptSubject):
            bare, pool = part_pool(self.subject.asked)
            prompt = self.subject.model_copy(update={"asked": bare})
        spec = EvaluationSpec(
            model=model,
            prompt=prompt,
            classifier=self.subject if isinstance(self.subject, Classifier) else None,
            form=wanted.form,
            num_prompts=wanted.num_prompts,
            is_other_model=changes.is_other_model,
            orders=wanted.orders,
            seed=self.result.provenance.seed,
            rows=places,
            known=self._known_answers(rows),
        )
        source = {"selection_id": self.selection.id, "answer": digest_answer(self.subject)}
        return ValidJob(
            spec.model_dump(mode="json"),
            rows,
            name=wanted.name,
            source=source,
            warnings=tuple(warnings),
            answer_bytes=weigh_answers(num_rows, asked.labels),
            pool=pool,
        )

    def _refuse_wishes_of_prompts(self) -> None:
        if self.wanted.orders:
            raise Unprocessable.at("/spec/orders", "a classifier has no other orders; leave `orders` out")
        if self.wanted.fixed:
            raise Unprocessable.at("/spec/fixed", "a classifier has no other form; leave `fixed` out")

    @property
    def _asked(self) -> Classifier:
        return classifier_of(self.subject)

    def _id_of(self, rows: Labelled) -> str | None:
        return rows.id if isinstance(rows, KnownDataset) else self.equal

    @property
    def _test_dataset(self) -> str:
        return self.selection.test_dataset_id or self.selection.dataset_id

    def _own_rows(self) -> tuple[KnownDataset, tuple[int, ...]]:
        """The test rows of the selection: their dataset, and which rows of it."""
        answers = self.result.test_answers
        if answers.rows:
            return KnownDataset(self._test_dataset), answers.rows
        raise Unprocessable.at(
            "/dataset_id", "the test rows of the selection are not known; send rows, or name a `dataset_id`"
        )

    def _check_size(self, num_rows: int, model: str | None, desk: Desk) -> None:
        """
        Raises:
            Unprocessable: more would be asked than the service allows.
        """
        orders, num_prompts = self.wanted.orders, self.wanted.num_prompts or len(self._asked.prompts)
        if orders * num_rows > MOST_REORDERED:
            raise Unprocessable.at(
                "/spec/orders",
                f"{orders} other orders of {num_rows:,} rows are more than {MOST_REORDERED:,} answers, which an "
                "evaluation does not keep; judge fewer orders or rows",
            )
        check_asking(self._asked, model, (1 + orders) * num_rows, num_prompts, desk.settings)

    def _known_answers(self, rows: Labelled) -> tuple[tuple[int, str], ...]:
        """What the selection answered on these rows, by row number; nothing for other rows."""
        is_tested = self._id_of(rows) == self._test_dataset
        return tuple(known_answers(self.result, self.subject).items()) if is_tested else ()
