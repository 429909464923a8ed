"""What evaluations found of the forms in which production asks: whether an export keeps the answers."""

import json
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store.states import Status
from app.store.tables import Job, Report
from lens_engine.exports import FORMATS, ExportName


@dataclass(frozen=True, slots=True)
class MeasuredForm:
    """The newest evaluation of a form on the test rows of a selection, by its own model."""

    id: str
    matches: bool
    accuracy: float

    @property
    def headers(self) -> dict[str, str]:
        """Headers of an export in this form."""
        return {
            "X-Format-Matches-Evaluation": json.dumps(self.matches),
            "X-Format-Accuracy": json.dumps(self.accuracy),
        }


def find_measured(
    session: Session, owner_id: str, answer: str, model: str | None, form: ExportName
) -> MeasuredForm | None:
    """The newest evaluation of a prompt in this form, on test rows of its selection alone.

    An evaluation of another form with the same turns counts as well.

    Args:
        answer: digest of the prompt.
        model: name of the model for which the prompt was found.
    """
    turns = None if form == "folder" else FORMATS[form].messages
    if turns is None:
        return None
    matches = Report.result["matches"].as_boolean()
    query = select(Job.id, matches, Report.result["quality", "accuracy"].as_float()).join(
        Report, Report.job_id == Job.id
    )
    query = query.where(
        Job.owner_id == owner_id,
        Job.kind == "evaluation",
        Job.status == Status.SUCCEEDED,
        Job.source["answer"].astext == answer,
        Job.spec["form"].astext.in_([name for name, one in FORMATS.items() if one.messages is turns]),
        Job.spec["is_other_model"].as_boolean().is_(False),
        Job.model == model,
        matches.is_not(None),
        Report.result["comparison", "n"].as_integer() == Report.result["quality", "n"].as_integer(),
    )
    row = session.execute(query.order_by(Job.id.desc()).limit(1)).one_or_none()
    return None if row is None else MeasuredForm(*row)
