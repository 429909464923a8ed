"""Parameters and bodies of the routes of what production reads, of a selection or of a name."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import AfterValidator

from app.selections.rendering import RenderBody, refuse_blank
from app.web.request_body import json_body
from lens_engine.config import Use
from lens_engine.exports import ExportName

RenderBodyDep = Annotated[RenderBody, Depends(json_body(RenderBody, is_stored=False))]

UseParameter = Annotated[
    Use | None, Query(description="Use for which the prompt is the best; default: that of the selection.")
]

MOST_INPUT_CHARACTERS = 1_000
"""Of an input in an address, of which proxies take 16 KiB: a character may be written with 12 bytes."""

InputParameter = Annotated[
    str | None,
    Query(
        max_length=MOST_INPUT_CHARACTERS,
        description="Text whose demonstrations are shown as well. A longer one is sent to `render`.",
        examples=["The plot never gets going."],
    ),
    AfterValidator(lambda text: None if text is None else refuse_blank(text)),
]

FormatParameter = Annotated[ExportName, Query(description="Form of the file.")]
