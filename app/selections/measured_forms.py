"""What evaluations found of the forms in which production asks: whether an export keeps the answers."""

import json
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.lifecycle.states import Status
from app.models import Job, Report
from lens_engine.exports import FORMATS, FormatName


@dataclass(frozen=True, slots=True)
class MeasuredForm:
    """The newest evaluation of a form on the test rows of a selection, by its own model."""

    id: str
    answer: str  #: digest of the prompt that was asked
    matches: bool
    accuracy: float

    def is_of(self, answer: str) -> bool:
        return self.answer == answer

    @property
    def headers(self) -> dict[str, str]:
        """Headers of an export in this form."""
        return {
            "X-Format-Matches-Evaluation": json.dumps(self.matches),
            "X-Format-Accuracy": json.dumps(self.accuracy),
        }


def find_measured(session: Session, owner_id: str, selection_id: str, form: FormatName) -> MeasuredForm | None:
    """The newest evaluation of this form that judged rows which the selection judged; the selection may be deleted.

    An evaluation of another form with the same turns counts as well.
    """
    turns = FORMATS[form].messages
    if turns is None:
        return None
    matches = Report.result["matches"].as_boolean()
    query = select(Job.id, Job.source["answer"].astext, matches, Report.result["quality", "accuracy"].as_float()).join(
        Report, Report.selection_id == Job.id
    )
    query = query.where(
        Job.owner_id == owner_id,
        Job.kind == "evaluation",
        Job.status == Status.SUCCEEDED,
        Job.source["selection_id"].astext == selection_id,
        Job.spec["form"].astext.in_([name for name, one in FORMATS.items() if one.messages is turns]),
        Job.spec["is_other_model"].as_boolean().is_(False),
        matches.is_not(None),
    )
    row = session.execute(query.order_by(Job.id.desc()).limit(1)).one_or_none()
    return None if row is None else MeasuredForm(*row)
