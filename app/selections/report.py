"""The report of a selection as an answer."""

from typing import Literal

from starlette.responses import Response

from lens_engine.result.documents import write_html, write_markdown
from lens_engine.result.view import ResultView

ReportFormat = Literal["html", "markdown"]

_HEADERS = {
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",  # the report carries its stylesheet
    "X-Content-Type-Options": "nosniff",
}


def write_report(view: ResultView, format: ReportFormat) -> Response:
    """The report. A browser runs no script in it, whatever the texts hold."""
    content, kind = (write_html(view), "html") if format == "html" else (write_markdown(view), "markdown")
    return Response(content, media_type=f"text/{kind}; charset=utf-8", headers=_HEADERS)
