"""Support examples as a file that another tool loads, and whether production gets the same answers with it."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.answers.indexes import PoolSource
from app.store.states import Status
from app.store.tables import Job, Report
from app.web.etag import REVALIDATED, answer_unchanged, answer_with_etag, is_known, make_etag
from lens_engine.evaluation.subject import digest_prompt
from lens_engine.exports import FORMATS, ExportName, Source, write_export
from lens_engine.exports.folder import FOLDER, ZIP_TYPE, pack, write_folder
from lens_engine.result import SupportExamples


class MeasuredForm(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Export:
    """Support examples that are exported in a format."""

    source: Source
    pool: PoolSource | None  #: None where the prompt finds no examples
    format: ExportName

    def find_measured(self, session: Session, owner_id: str) -> MeasuredForm | None:
        """The newest evaluation of the prompt in this form, on test rows of its selection alone.

        An evaluation of another form with the same turns counts as well.
        """
        turns = None if self.format == FOLDER else FORMATS[self.format].messages
        if turns is None:
            return None
        matches, quality = Report.result["matches"].as_boolean(), Report.result["quality"]
        query = select(Job.id, matches, quality["accuracy"].as_float()).join(Report, Report.job_id == Job.id)
        query = query.where(
            Job.owner_id == owner_id,
            Job.kind == "evaluation",
            Job.status == Status.SUCCEEDED,
            Job.source["answer"].astext == digest_prompt(self.source.task, self.source.answer),
            Job.spec["form"].astext.in_([name for name, one in FORMATS.items() if one.messages is turns]),
            Job.spec["is_other_model"].as_boolean().is_(False),
            Job.model == self.source.model,
            matches.is_not(None),
            Report.result["comparison", "n"].as_integer() == quality["n"].as_integer(),
        )
        row = session.execute(query.order_by(Job.id.desc()).limit(1)).one_or_none()
        return None if row is None else MeasuredForm(*row)

    def answer(self, if_none_match: str | None, measured: MeasuredForm | None) -> Response:
        """The file, or an archive of files, or 304 to a client that has it.

        The same prompt in the same format is the same file until an evaluation says more of its form.
        """
        etag = make_etag(f"export-{self.format}", self._version, str(measured and measured.id))
        if is_known(if_none_match, etag):
            return answer_unchanged(etag, REVALIDATED)
        return answer_with_etag(etag, self._make_file(measured), REVALIDATED)

    @property
    def _version(self) -> str:
        """Text that differs whenever the file differs."""
        source, pool = self.source, self.pool if self.format == FOLDER else None
        rows = "" if pool is None else " ".join(pool.key)
        return f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}{rows}"

    def _make_file(self, measured: MeasuredForm | None) -> Response:
        if self.format == FOLDER:
            content = pack(write_folder(self.source, None if self.pool is None else self.pool.load()))
            headers = _describe(self.source.chosen, "prompt.zip", is_evaluated=True)
            return Response(content, media_type=ZIP_TYPE, headers=headers)
        kind = FORMATS[self.format]
        is_evaluated = kind.is_evaluated_prompt(self.source.task)
        headers = _describe(self.source.answer, f"support-examples{kind.suffix}", is_evaluated=is_evaluated)
        if measured is not None:
            headers |= measured.headers
        return Response(write_export(self.source, self.format), media_type=kind.media_type, headers=headers)


def _describe(answer: SupportExamples, name: str, *, is_evaluated: bool) -> dict[str, str]:
    """Headers of a file with this name that has this prompt."""
    accuracy = None if answer.test is None else answer.test.accuracy
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Format-Matches-Evaluation": "true" if is_evaluated else "null",
        "X-Prompt-Form": answer.form.name,
        "X-Prompt-Accuracy": json.dumps(accuracy),
    }
