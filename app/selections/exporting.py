"""Support examples as a file that another tool loads."""

import json
from dataclasses import dataclass

from starlette.responses import Response

from app.selections.indexes import PoolSource
from app.selections.measured_forms import MeasuredForm
from lens_engine.evaluation.subject import digest_prompt
from lens_engine.exports import FORMATS, ExportName, Source, write_export
from lens_engine.exports.folder import FOLDER, ZIP_TYPE, pack, write_folder
from lens_engine.result import SupportExamples


@dataclass(frozen=True, slots=True)
class Export:
    """Support examples that are exported."""

    source: Source
    pool: PoolSource | None  #: None where the prompt finds no examples

    @property
    def digest(self) -> str:
        """Of the prompt, as evaluations name it."""
        return digest_prompt(self.source.task, self.source.answer)

    def version(self, format: ExportName) -> str:
        """Text that differs whenever a file of this format differs."""
        source, pool = self.source, self.pool if format == FOLDER else None
        rows = "" if pool is None else " ".join(pool.key)
        return f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}{rows}"

    def answer(self, format: ExportName, measured: MeasuredForm | None) -> Response:
        """The file, or an archive of files, with what an evaluation found of its form."""
        if format == FOLDER:
            content = pack(write_folder(self.source, None if self.pool is None else self.pool.load()))
            headers = {
                "Content-Disposition": 'attachment; filename="prompt.zip"',
                "X-Format-Matches-Evaluation": "true",
                **_describe_form(self.source.chosen),
            }
            return Response(content, media_type=ZIP_TYPE, headers=headers)
        kind = FORMATS[format]
        headers = {
            "Content-Disposition": f'attachment; filename="support-examples{kind.suffix}"',
            "X-Format-Matches-Evaluation": "true" if kind.is_evaluated_prompt(self.source.task) else "null",
            **_describe_form(self.source.answer),
        }
        if measured is not None:
            headers |= measured.headers
        return Response(write_export(self.source, format), media_type=kind.media_type, headers=headers)


def _describe_form(answer: SupportExamples) -> dict[str, str]:
    """Headers of an export that has this prompt."""
    accuracy = None if answer.test is None else answer.test.accuracy
    return {"X-Prompt-Form": answer.form.name, "X-Prompt-Accuracy": json.dumps(accuracy)}
