"""Turns rows of predictions into wire types."""

from typing import Any

from sqlalchemy.orm import Session

from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.predictions.schemas import PredictionOut, PredictionView
from app.predictions.stored import PredictionPart
from app.store.states import Status
from app.store.tables import Job
from lens_engine.retrieval.form import PromptForm


def present(_: Session, job: Job, queue: QueueOut | None) -> PredictionOut:
    """Build the API's view of a prediction."""
    output = f"/predictions/{job.id}/output" if job.status == Status.SUCCEEDED else None
    values = read_columns(job, PredictionOut.model_fields, queue)
    return PredictionOut.model_validate({**values, "spec": _present_spec(job.spec), "output": output})


def _present_spec(stored: dict[str, Any]) -> PredictionView:
    spec = PredictionPart.model_validate(stored)
    retrieval = spec.classifier.retrieval
    form = PromptForm() if retrieval is None else retrieval.form
    return PredictionView(
        prompts="classifier" if spec.use is None else "support_examples",
        use=spec.use,
        prompt_form=None if spec.use is None else form,
        model=spec.model,
        head=spec.classifier.head.kind,
        labels=list(spec.classifier.task.labels),
        columns=list(spec.columns),
        answer_above=spec.answer_above,
    )
