"""Turns rows of evaluations into wire types."""

from typing import Any

from sqlalchemy.orm import Session

from app.evaluations.schemas import EvaluationOut, EvaluationView
from app.jobs import repository
from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.lifecycle.spec import StoredPart
from app.store.tables import Job
from lens_engine.config import Use
from lens_engine.exports import FormatName
from lens_engine.retrieval.form import PromptForm


class _AnswerPart(StoredPart):
    use: Use
    form: PromptForm


class _PromptPart(StoredPart):
    answer: _AnswerPart


class _SpecPart(StoredPart):
    """An `EvaluationSpec` without the prompts and the answers of the selection."""

    model: str | None
    prompt: _PromptPart | None
    form: FormatName | None
    num_prompts: int | None
    orders: int
    rows: tuple[int, ...] | None


def present(session: Session, job: Job, queue: QueueOut | None) -> EvaluationOut:
    """Build the API's view of an evaluation."""
    report = repository.find_report(session, job.id)
    values = read_columns(job, EvaluationOut.model_fields, queue)
    spec = _present_spec(job.spec)
    return EvaluationOut.model_validate({**values, "spec": spec, "result": None if report is None else report.result})


def _present_spec(stored: dict[str, Any]) -> EvaluationView:
    spec = _SpecPart.model_validate(stored)
    answer = None if spec.prompt is None else spec.prompt.answer
    return EvaluationView(
        prompts="classifier" if answer is None else "support_examples",
        use=None if answer is None else answer.use,
        model=spec.model,
        form=spec.form,
        prompt_form=None if answer is None else answer.form,
        orders=spec.orders,
        num_prompts=spec.num_prompts,
        rows=None if spec.rows is None else len(spec.rows),
    )
