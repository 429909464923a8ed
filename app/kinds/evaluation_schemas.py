"""Evaluations: what is submitted, shown and stored. No HTTP, because workers import it too."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.intake.parts import ModelName, Name, RowsBody
from app.jobs.schemas import JobOut, JobSummary, SourceOut
from app.lifecycle.spec import JobSpec
from app.store.datasets import load_rows
from app.store.pools import PackedPool, delete_pool, join_pool, part_pool
from app.store.tables import Job, Report
from app.web.outgoing import Outgoing
from app.web.validation import Incoming
from lens_engine.config import Use
from lens_engine.evaluation.subject import Changes, PromptSubject, Subject
from lens_engine.exports import FormatName
from lens_engine.result.evaluation import EvaluationResult
from lens_engine.retrieval.form import PromptForm
from lens_engine.types import Example, StopReason

MOST_ORDERS = 32


class EvaluationRequest(Incoming):
    """What is judged, and how it is asked."""

    other_names: ClassVar = {"format": "form", "shuffles": "orders", "prompt": "prompts"}

    prompts: Literal["support_examples", "classifier"] = Field(
        default="support_examples",
        description="What is judged. support_examples: the prompt of the support examples. classifier: the classifier.",
    )
    use: Use | None = Field(
        default=None, description="Use for which the support examples are the best; default: that of the selection."
    )
    model: ModelName | None = Field(
        default=None, description="Model that is asked, from GET /models; null for that of the selection."
    )
    fixed: bool = Field(
        default=False,
        description="Whether the prompt of fixed demonstrations is judged, also where another form is the best.",
    )
    form: FormatName | None = Field(
        default=None,
        description="Format of exports whose turns of a chat are asked, by the chat template of the model; null for "
        "the template of the selection. It judges the fixed form of the prompt, because it holds no other.",
        examples=["openai-chat"],
    )
    orders: Annotated[int, Field(ge=0, le=MOST_ORDERS)] = Field(
        default=0, description="Number of other orders of the fixed demonstrations that are judged too."
    )
    num_prompts: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Number of prompts of a classifier that are asked, the first; null for all."
    )
    name: Name | None = Field(default=None, description="Display name.")


class EvaluationBody(RowsBody):
    """The JSON body: what to judge, and rows. Without rows, the test rows of the selection are judged."""

    other_names: ClassVar = {"dataset": "examples", "rows": "examples"}

    spec: EvaluationRequest = Field(
        default_factory=EvaluationRequest, description="What is judged, and how it is asked; all has a default."
    )
    examples: list[Any] | None = Field(
        default=None, description='Rows: objects with "text" and "label" or other usual names.'
    )
    dataset_id: str | None = Field(default=None, max_length=40, description="Id of one of your datasets.")

    @model_validator(mode="after")
    def has_one_source_of_rows(self) -> "EvaluationBody":
        if self.examples is not None and self.dataset_id is not None:
            raise ValueError("give either `examples` or `dataset_id`, not both")
        return self


class EvaluationSummary(JobSummary):
    """An evaluation in a list."""

    source: SourceOut = Field(description="What is judged.")


class EvaluationView(Outgoing):
    """What is judged, and how it is asked."""

    prompts: Literal["support_examples", "classifier"] = Field(description="What is judged.")
    use: Use | None = Field(description="Use of the support examples; null for a classifier.")
    model: str | None = Field(description="Name of the model; null for a bag of words.")
    form: FormatName | None = Field(description="Format of exports whose turns are asked; null for the template.")
    prompt_form: PromptForm | None = Field(
        description="How the prompt finds the demonstrations of an input; null for a classifier."
    )
    orders: int = Field(description="Number of other orders that are judged too.")
    num_prompts: int | None = Field(description="Number of prompts that are asked; null for all.")
    rows: int | None = Field(description="Number of rows of the dataset that are judged; null for all.")


class EvaluationOut(EvaluationSummary, JobOut):
    """An evaluation, with its result."""

    spec: EvaluationView = Field(description="What is judged, and how it is asked.")
    result: EvaluationResult | None = Field(description="The figures; null before the evaluation succeeded.")


class EvaluationPage(Outgoing):
    """One page of evaluations, newest first."""

    items: list[EvaluationSummary] = Field(description="Evaluations, newest first; GET of one has its result.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class EvaluationSpec(JobSpec, EvaluationView):
    """What is stored of an evaluation for its worker: what clients see, and what is judged."""

    subject: Subject  #: what is judged; a prompt is without the rows of its pool, which are stored beside the job
    is_other_model: bool = False
    seed: int = 0
    places: tuple[int, ...] | None = None  #: rows of the dataset that are judged; None for all
    known: tuple[tuple[int, str], ...] = ()  #: row, and what the selection answered

    @classmethod
    def of(
        cls, subject: Subject, wanted: EvaluationRequest, changes: Changes, *, model: str | None, **others: Any
    ) -> tuple[Self, PackedPool | None]:
        """The spec of an evaluation, and the pool of its prompt, which is stored beside it.

        Args:
            model: name of the model that is asked.
            others: `seed`, `places` and `known`.
        """
        answer, pool, places = None, None, others["places"]
        if isinstance(subject, PromptSubject):
            answer = subject.answer
            bare, pool = part_pool(subject.asked)
            subject = subject.model_copy(update={"asked": bare})
        spec = cls(
            prompts=wanted.prompts,
            use=None if answer is None else answer.use,
            model=model,
            form=wanted.form,
            prompt_form=None if answer is None else answer.form,
            orders=wanted.orders,
            num_prompts=wanted.num_prompts,
            rows=None if places is None else len(places),
            subject=subject,
            is_other_model=changes.is_other_model,
            **others,
        )
        return spec, pool

    @property
    def changes(self) -> Changes:
        return Changes(self.form, self.num_prompts, self.is_other_model)


@dataclass(frozen=True, slots=True)
class EvaluationWork:
    """All that a worker needs for an evaluation."""

    spec: EvaluationSpec  #: with the rows of the pool
    examples: tuple[Example, ...]


def load_evaluation(session: Session, job_id: str) -> EvaluationWork:
    """
    Raises:
        NoResultFound: the evaluation was deleted.
        SpecUnreadable: see `JobSpec.read`.
    """
    job = session.execute(select(Job).where(Job.id == job_id)).scalar_one()
    spec = EvaluationSpec.read(job.spec)
    if isinstance(spec.subject, PromptSubject):
        asked = join_pool(session, job_id, spec.subject.asked)
        spec = spec.model_copy(update={"subject": spec.subject.model_copy(update={"asked": asked})})
    examples = load_rows(session, job.dataset_id)
    if spec.places is not None:
        wanted = set(spec.places)
        examples = tuple(example for example in examples if example.row in wanted)
    return EvaluationWork(spec, examples)


@dataclass(frozen=True, slots=True)
class EvaluationOutcome:
    """The figures of an evaluation."""

    result: EvaluationResult
    stop_reason: StopReason = StopReason.COMPLETED

    def store(self, session: Session, job_id: str) -> dict[str, Any]:
        found = self.result.model_dump(mode="json")
        delete_pool(session, job_id)  # nobody asks again
        session.execute(insert(Report).values(job_id=job_id, result=found))
        digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
        dtype = None if self.result.model is None else self.result.model.dtype
        return {"partial": False, "digest": digest, "dtype": dtype}
