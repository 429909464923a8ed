"""Rows of a result: what each way to answer says of them, and a run again with labels that a person has corrected."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse

from app.answers import results
from app.errors import BadRequest, NotFound, invalid_inputs
from app.lifecycle.spec import StoredSpec
from app.pages.fields import FieldsDep, build_again, read_field
from app.pages.rendering import VisitDep
from app.selections import datasets
from app.selections import service as selections
from app.selections.bodies import JsonBody
from app.selections.limits import parsing_limits
from app.selections.receiving import do_large
from app.selections.submission import Accepted, submit_selection
from app.store.datasets import load_rows, load_texts
from app.store.services import Services
from app.web.dependencies import OWNER_ROUTE, SelectionIdDep
from lens_engine.files import parse_inline
from lens_engine.prompt.wording import shorten, show_count
from lens_engine.show.answers import Answered
from lens_engine.show.report import ResultView

router = APIRouter(prefix="/pages/selections", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_ROWS = 200
"""Largest number of rows that are listed."""

_MOST_CHARACTERS = 200
"""Longest name of a file."""

_FIELD = re.compile(r"(dataset|test)-(\d{1,9})")
"""A field with another label of a row: its file, and its number."""

Changes = Mapping[str, Mapping[int, str | None]]
"""Labels by file (dataset, test) and row; None for a row that is left out."""


class Line(NamedTuple):
    """A row, and what each way to answer says of it; what to use stands first."""

    row: int
    label: str
    answers: tuple[str | None, ...]
    certainty: float | None = None  #: of the first answer, where a label is suspicious

    @property
    def is_wrong(self) -> bool:
        return self.answers[0] not in (None, self.label)

    @property
    def differs(self) -> bool:
        return len({one for one in self.answers if one is not None}) > 1


def list_lines(answered: Sequence[Answered]) -> list[Line]:
    """The rows that have an answer: first those with a wrong one, then those on which the answers differ."""
    own = [dict(zip(one.rows, one.answers, strict=True)) for one in answered]
    gold = {row: place for one in answered for row, place in zip(one.rows, one.gold, strict=True)}

    names = dict(enumerate(answered[0].labels))
    lines = [Line(row, names[place], tuple(names.get(one.get(row, -1)) for one in own)) for row, place in gold.items()]
    return sorted(lines, key=lambda one: (not one.is_wrong, not one.differs, one.row))


def list_suspicious(view: ResultView) -> list[Line]:
    """The rows whose label may be wrong, with the label that is likelier."""
    found = view.result.suspicious_labels
    return [Line(one.row, one.label, (one.likelier,), one.probability_of_likelier) for one in found]


@router.get("/{selection_id}/rows")
def show_rows(
    visit: VisitDep,
    selection_id: SelectionIdDep,
    of: Annotated[str, Query(max_length=40)] = "",
    gold: Annotated[int, Query(ge=0)] = 0,
    answer: Annotated[int, Query(ge=0)] = 0,
) -> HTMLResponse:
    """The rows that were judged, with their texts and every answer; or those behind a cell of a confusion matrix."""
    view = results.get_view(visit.services, visit.owner, selection_id)
    first = view.result.answer.use if view.result.first == "prompt" else "classifier"
    answered, labels = sorted(view.answered, key=lambda one: one.name != first), view.result.task.labels
    lines, cell = list_lines(answered) if answered else [], None
    if of:
        names = [one.name for one in answered]
        if of not in names or max(gold, answer) >= len(labels):
            raise NotFound("the result has no such cell")
        cell = (labels[gold], labels[answer])
        lines = [one for one in lines if (one.label, one.answers[names.index(of)]) == cell]
    with visit.services.database.session_scope() as session:
        job = selections.get(session, visit.owner, selection_id)
        rows = [one.row for one in lines[:_MOST_ROWS]]
        texts = load_texts(session, results.find_answered(job, view.result), rows)
    part = "test" if view.result.answers.is_test and job.test_dataset_id else "dataset"
    shown = {"lines": lines, "most": _MOST_ROWS, "texts": texts, "titles": [one.title for one in answered]}
    return visit.answer("rows.html", None, **shown, part=part, labels=labels, cell=cell)


@router.post("/{selection_id}/corrected")
async def run_corrected(visit: VisitDep, selection_id: SelectionIdDep, fields: FieldsDep) -> HTMLResponse:
    """Run a selection again with other labels for some rows, and show it."""
    changes = read_changes(fields)
    if not changes:
        raise BadRequest("no row has another label yet; choose one in the list of rows first")
    accepted = await do_large(visit.request, repeat_with_labels, selection_id, changes, read_field(fields, "key"))
    return visit.go_to(f"/pages/selections/{accepted.answer['id']}", accepted.job_id)


def read_changes(fields: FormData) -> Changes:
    found: dict[str, dict[int, str | None]] = {}
    for name, label in fields.multi_items():
        if label and (field := _FIELD.fullmatch(name)):
            found.setdefault(field[1], {})[int(field[2])] = str(label).strip() or None
    return found


def repeat_with_labels(services: Services, owner_id: str, selection_id: str, changes: Changes, key: str) -> Accepted:
    """Store the files of a selection with other labels, and submit it again as it was asked for. Raises NotFound if the
    owner has no such selection, and what `keep_rows` and `submit_selection` raise.

    `key`: of the page, which may send the same changes twice.
    """
    with services.database.session_scope() as session:
        job = selections.get(session, owner_id, selection_id)
        name = (job.name or datasets.get(session, owner_id, job.dataset_id).name or job.id).removesuffix(", corrected")
        spec = build_again(StoredSpec.model_validate(job.spec), f"{shorten(name, _MOST_CHARACTERS - 11)}, corrected")
    ids = {"dataset": job.dataset_id, "test": job.test_dataset_id}
    ids |= {part: _store(services, owner_id, one, labels) for part, labels in changes.items() if (one := ids[part])}
    body = JsonBody({"spec": spec, "dataset_id": ids["dataset"], "test_dataset_id": ids["test"]})
    return submit_selection(services, owner_id, body, f"{key[:64]}-{body.digest()}" if key else None)


def _store(services: Services, owner_id: str, dataset_id: str, labels: Mapping[int, str | None]) -> str:
    with services.database.session_scope() as session:
        name, rows = datasets.get(session, owner_id, dataset_id).name, load_rows(session, dataset_id)
    found = [{"text": one.text, "label": labels.get(one.row, one.label)} for one in rows]
    with invalid_inputs():
        parsed = parse_inline([one for one in found if one["label"]], parsing_limits(services.settings))
    changed = f"{show_count(len(labels), 'label', 'was')} {datasets.CORRECTED}"
    parsed = replace(parsed, warnings=(*parsed.warnings, changed))
    name = name and shorten(f"{name}, {show_count(len(labels), 'row')} corrected", _MOST_CHARACTERS)
    with services.database.session_scope() as session:
        return str(datasets.keep_rows(session, owner_id, services.settings, parsed, name).answer["id"])
