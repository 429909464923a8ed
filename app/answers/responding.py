"""Answers a request for what production reads, of a selection or of a prompt. The routes are in their own packages."""

from typing import Annotated, Any

from fastapi import Depends, Query, Response
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from app.answers.answers import Answers, Finder, answer_known
from app.answers.indexes import Indexes
from app.answers.schemas import RenderBody, Rendered, refuse_blank
from app.web.openapi import not_modified, sends, takes_json
from app.web.parameters import REVALIDATED, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.request_body import json_body
from lens_engine.config import Use
from lens_engine.show.exports import FORMATS, write_export
from lens_engine.types import FormatName

MOST_INPUT_CHARACTERS = 1_000
"""Of an input in an address, of which proxies take 16 KiB: a character may be written with 12 bytes."""

UseParameter = Annotated[
    Use | None, Query(description="Use for which the prompt is the best; default: that of the selection.")
]
InputParameter = Annotated[
    str | None,
    Query(
        max_length=MOST_INPUT_CHARACTERS,
        description="Text whose demonstrations are shown as well. A longer one is sent to `render`.",
        examples=["The plot never gets going."],
    ),
    AfterValidator(lambda text: None if text is None else refuse_blank(text)),
]
FormatParameter = Annotated[FormatName, Query(description="Form of the file.")]
RenderBodyDep = Annotated[RenderBody, Depends(json_body(RenderBody, is_stored=False))]
RENDER_BODY = takes_json(RenderBody)
READS: dict[int | str, Any] = {200: sends("ETag"), **not_modified()}
_MEDIA_TYPES = sorted({one.media_type.partition(";")[0] for one in FORMATS.values()})
EXPORTS: dict[int | str, Any] = READS | {
    200: {
        "description": "The file.",
        "content": {one: {"schema": {"type": "string"} if one.startswith("text/") else {}} for one in _MEDIA_TYPES},
        **sends("ETag", "Content-Disposition"),
    }
}


async def answer_support_examples(
    finder: Finder, indexes: Indexes, if_none_match: str | None, use: Use | None, text: str | None
) -> Response:
    """The support examples for a use, with the demonstrations of a text if one is given; or 304."""
    name = f"support-examples-{use}-{text}"

    def read() -> Answers | Response:
        with finder.services.database.session_scope() as session:
            known = answer_known(finder, session, if_none_match, name, "support-examples")
            return known or finder.read(session)

    answers = await run_in_threadpool(read)
    if isinstance(answers, Response):
        return answers
    pool = None if text is None else await answers.fetch_pool(indexes, use)
    shown = await run_in_threadpool(answers.show, use, text, pool)
    return answer_with_etag(answers.version.etag(name), shown, REVALIDATED)


def answer_classifier(finder: Finder, if_none_match: str | None) -> Response:
    """The classifier to use, or 304."""
    with finder.services.database.session_scope() as session:
        known = answer_known(finder, session, if_none_match, "classifier", "classifier")
        if known is not None:
            return known
        version, classifier = finder.read_classifier(session)
    return answer_with_etag(version.etag("classifier"), classifier, REVALIDATED)


def answer_export(finder: Finder, if_none_match: str | None, format: FormatName, use: Use | None) -> Response:
    """The support examples as a file, or 304."""
    with finder.services.database.session_scope() as session:
        source = finder.read(session).export(use)
    content = f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}"
    etag, kind = make_etag(f"export-{format}", content), FORMATS[format]
    if is_known(if_none_match, etag):
        return answer_unchanged(etag, REVALIDATED)
    headers = {"Content-Disposition": f'attachment; filename="support-examples{kind.suffix}"'}
    file = Response(write_export(source, format), media_type=kind.media_type, headers=headers)
    return answer_with_etag(etag, file, REVALIDATED)


async def render(finder: Finder, indexes: Indexes, body: RenderBody) -> Rendered:
    """The prompts for the inputs of a body."""

    def read() -> Answers:
        with finder.services.database.session_scope() as session:
            return finder.read(session)

    answers = await run_in_threadpool(read)
    pool = await answers.fetch_pool(indexes, body.use)
    return await run_in_threadpool(answers.render, body, pool)
