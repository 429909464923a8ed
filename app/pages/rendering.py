"""A visit of a page: templates, and the answer that they become."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.responses import HTMLResponse

from app.prompts.service import Change, Condition
from app.selections.datasets import is_correction
from app.store.queue import JobId
from app.store.services import Services, enqueueing
from app.web.dependencies import OwnerDep, ServicesDep
from app.web.error_handlers import mark_code
from app.web.parameters import root_of
from lens_engine.prompt import wording
from lens_engine.show.report import join_percent, make_environment

_GUESS = re.compile(r"(read|the file is read as) .*\((?!a usual name|as such files have it)")
"""Notes of `lens_engine.files` on a column that was guessed by its values."""

_TABLE, _NO_STEM = re.compile(r"\.(csv|tsv|jsonl?|txt)$", re.IGNORECASE), re.compile(r"[^\w.-]+")


@cache
def _environment() -> Environment:
    environment = make_environment(PackageLoader("app.pages"))
    environment.filters |= {
        "time": _write_time,
        "moment": lambda moment: _write_time(moment, "%Y-%m-%d %H:%M:%S"),
        "seconds": wording.describe_seconds,
        "duration": describe_duration,
        "span": describe_span,
        "is_guess": is_guess,
        "is_correction": is_correction,
        "shorten": wording.shorten,
        "stem": _write_stem,
        "share": lambda share, n: join_percent(wording.show_share(share, n)),
        "right": lambda share, n: join_percent(wording.show_right(share, n)),
        "percent": lambda share: join_percent(f"{wording.show_percent(share)} %"),
        "sentence": wording.end_sentence,
        "code": lambda text: Markup(mark_code(text)),
    }
    environment.globals |= {"count": wording.show_count}
    return environment


def render(template: str, root: str, **values: Any) -> str:
    """A template as text. `root`: the path under which a proxy serves the application."""
    return _environment().get_template(template).render(root=root, **values)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page or a part of one, and whose it is."""

    request: Request
    owner: str
    services: Services

    @property
    def root(self) -> str:
        """The path under which a proxy serves the application."""
        return root_of(self.request.scope)

    def answer(self, template: str, headers: Mapping[str, str] | None = None, **values: Any) -> HTMLResponse:
        """The content of a page, or of a part of one."""
        return HTMLResponse(render(template, self.root, **values), headers=dict(headers or {}))

    def go_to(self, path: str, queued: JobId | None = None) -> HTMLResponse:
        """Have the browser open another page. `queued`: what is enqueued when it was told."""
        background = enqueueing(self.services, queued)
        return HTMLResponse("", headers={"HX-Redirect": f"{self.root}{path}"}, background=background)

    def change(self, name: str, version: str | None) -> Change:
        """A change of the version of a name that the page showed, or of a new name."""
        condition = Condition(f'"{version}"', None) if version else Condition(None, "*")
        return Change(self.services, self.owner, name, condition, self.request.state.key_name)


async def get_visit(request: Request, owner: OwnerDep, services: ServicesDep) -> Visit:
    return Visit(request, owner, services)


VisitDep = Annotated[Visit, Depends(get_visit)]


def _write_stem(name: str | None) -> str:
    """The beginning of the name of a file that is about what has this name; empty where nothing of it fits."""
    return _NO_STEM.sub("-", _TABLE.sub("", name or "")).strip("-.")


def is_guess(note: str) -> bool:
    """Whether a note on a file asks a person to look: whether a column is the right one."""
    return _GUESS.match(note) is not None


def describe_duration(seconds: float) -> str:
    """A length of time in whole minutes or hours."""
    minutes = _minutes(seconds)
    return wording.show_count(minutes, "minute") if minutes < 120 else wording.show_count(round(minutes / 60), "hour")


def describe_span(lasts: tuple[float, float], limit: float | None) -> str:
    """How long a run takes (least and most seconds), or what is left of that where it stops after a limit."""
    least, most = lasts
    if limit is not None and limit <= least:
        return f"about {describe_duration(limit)}"
    most = most if limit is None else min(most, limit)
    first, last = _minutes(least), _minutes(most)
    return f"about {describe_duration(most)}" if first == last else f"{first} to {wording.show_count(last, 'minute')}"


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / 60))


def _write_time(moment: datetime, form: str = "%Y-%m-%d %H:%M") -> Markup:
    return Markup('<time datetime="{}">{} UTC</time>').format(moment.isoformat(), moment.strftime(form))
