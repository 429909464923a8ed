"""Support examples as a file that another tool loads."""

import json
from dataclasses import dataclass

from starlette.responses import Response

from app.answers.indexes import PoolSource
from app.web.etag import REVALIDATED, answer_unchanged, answer_with_etag, is_known, make_etag
from lens_engine.exports import FORMATS, ExportName, Source, write_export
from lens_engine.exports.folder import FOLDER, ZIP_TYPE, pack, write_folder
from lens_engine.result import SupportExamples


@dataclass(frozen=True, slots=True)
class Export:
    """Support examples that are exported in a format."""

    source: Source
    pool: PoolSource | None  #: None where the prompt finds no examples
    format: ExportName

    def answer(self, if_none_match: str | None) -> Response:
        """The file, or an archive of files, or 304 to a client that has it."""
        etag = make_etag(f"export-{self.format}", self._version)
        if is_known(if_none_match, etag):
            return answer_unchanged(etag, REVALIDATED)
        return answer_with_etag(etag, self._make_file(), REVALIDATED)

    @property
    def _version(self) -> str:
        """Text that differs whenever the file differs."""
        source, pool = self.source, self.pool if self.format == FOLDER else None
        rows = "" if pool is None else " ".join(pool.key)
        return f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}{rows}"

    def _make_file(self) -> Response:
        if self.format == FOLDER:
            content = pack(write_folder(self.source, None if self.pool is None else self.pool.load()))
            headers = _describe(self.source.chosen, "prompt.zip")
            return Response(content, media_type=ZIP_TYPE, headers=headers)
        kind = FORMATS[self.format]
        headers = _describe(self.source.answer, f"support-examples{kind.suffix}")
        return Response(write_export(self.source, self.format), media_type=kind.media_type, headers=headers)


def _describe(answer: SupportExamples, name: str) -> dict[str, str]:
    """Headers of a file with this name that has this prompt."""
    accuracy = None if answer.test is None else answer.test.accuracy
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Prompt-Form": answer.form.name,
        "X-Prompt-Accuracy": json.dumps(accuracy),
    }
