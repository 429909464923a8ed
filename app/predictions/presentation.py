"""Turns rows of predictions into wire types."""

from sqlalchemy.orm import Session

from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.lifecycle.states import Status
from app.models import Job
from app.predictions.schemas import PredictionOut


def present(_: Session, job: Job, queue: QueueOut | None) -> PredictionOut:
    """Build the API's view of a prediction."""
    classifier, use = job.spec["classifier"], job.spec.get("use")
    form = (classifier.get("retrieval") or {}).get("form", {"kind": "fixed", "nearest": 0})
    spec = {
        "prompts": "classifier" if use is None else "support_examples",
        "use": use,
        "prompt_form": None if use is None else form,
        "model": job.spec["model"],
        "head": classifier["head"]["kind"],
        "labels": [one["label"] for one in classifier["task"]["label_words"]],
        "columns": job.spec["columns"],
        "answer_above": job.spec.get("answer_above"),
    }
    output = f"/predictions/{job.id}/output" if job.status == Status.SUCCEEDED else None
    values = read_columns(job, PredictionOut.model_fields, queue)
    return PredictionOut.model_validate({**values, "spec": spec, "output": output})
