"""Support examples as a file that another tool loads."""

from dataclasses import dataclass

from starlette.responses import Response

from app.web.etag import REVALIDATED, answer_unchanged, answer_with_etag, is_known, make_etag
from lens_engine.exports import FORMATS, FormatName, Source, write_export


@dataclass(frozen=True, slots=True)
class Export:
    """Support examples that are exported in a format."""

    source: Source
    format: FormatName

    def answer(self, if_none_match: str | None) -> Response:
        """The file, or 304 to a client that has it."""
        source = self.source
        content = f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}"
        etag = make_etag(f"export-{self.format}", content)
        if is_known(if_none_match, etag):
            return answer_unchanged(etag, REVALIDATED)
        kind = FORMATS[self.format]
        headers = {"Content-Disposition": f'attachment; filename="support-examples{kind.suffix}"'}
        file = Response(write_export(source, self.format), media_type=kind.media_type, headers=headers)
        return answer_with_etag(etag, file, REVALIDATED)
