"""Turns rows of evaluations into wire types."""

from typing import Any

from sqlalchemy.orm import Session

from app.evaluations.schemas import EvaluationOut
from app.jobs import repository
from app.jobs.presentation import read_columns
from app.jobs.schemas import QueueOut
from app.models import Job


def present(session: Session, job: Job, queue: QueueOut | None) -> EvaluationOut:
    """Build the API's view of an evaluation. Another release may have stored its result."""
    report = repository.find_report(session, job.id)
    values = read_columns(job, EvaluationOut.model_fields, queue)
    spec = _present_spec(job.spec)
    return EvaluationOut.model_validate({**values, "spec": spec, "result": None if report is None else report.result})


def _present_spec(stored: dict[str, Any]) -> dict[str, Any]:
    prompt = stored.get("prompt")
    copied = {name: stored.get(name) for name in ("model", "form", "num_prompts")}
    return {
        **copied,
        "orders": stored.get("orders", 0),
        "prompts": "classifier" if prompt is None else "support_examples",
        "use": None if prompt is None else prompt["answer"]["use"],
        "prompt_form": None if prompt is None else prompt["answer"].get("form"),
        "rows": None if stored.get("rows") is None else len(stored["rows"]),
    }
