"""Rows of a result: what each way to answer says of them, and a run again with labels that a person has corrected."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse

from app.answers import results
from app.dependencies import OWNER_ROUTE, SelectionIdDep
from app.errors import BadRequest, NotFound
from app.lifecycle.spec import StoredSpec
from app.pages.fields import FieldsDep, build_again, read_field
from app.pages.rendering import VisitDep
from app.selections import datasets
from app.selections import service as selections
from app.selections.bodies import JsonBody, parsing_limits
from app.selections.receiving import do_large
from app.selections.refusals import invalid_inputs
from app.selections.submission import Accepted, submit_selection
from app.services import Services, enqueueing
from app.store.datasets import load_rows, load_texts
from lens_engine.reading import parse_inline
from lens_engine.show.answers import Answered
from lens_engine.show.report import ResultView
from lens_engine.task.wording import shorten, show_count
from lens_engine.types import Example

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

    def name(place: int | None) -> str | None:
        return None if place is None else answered[0].labels[place]

    lines = [
        Line(row, answered[0].labels[place], tuple(name(each.get(row)) for each in own)) for row, place in gold.items()
    ]
    return sorted(lines, key=lambda one: (not one.is_wrong, not one.differs, one.row))


def list_suspicious(view: ResultView) -> list[Line]:
    """The rows whose label may be wrong, with the label that is likelier."""
    return [Line(one.row, one.label, (one.likelier,)) for one in view.result.suspicious_labels]


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


@router.post("/{selection_id}/without")
async def run_without_suspicious(visit: VisitDep, selection_id: SelectionIdDep) -> HTMLResponse:
    """Begin a selection of the same files without the rows whose label looks wrong, asked for as this one was."""
    ids = await do_large(visit.request, leave_out_suspicious, selection_id)
    query = "&".join(f"{name.removesuffix('_id').removesuffix('_dataset')}={one}" for name, one in ids.items())
    return visit.go_to(f"/pages/new?{query}&of={selection_id}")


@router.post("/{selection_id}/corrected")
async def run_corrected(visit: VisitDep, selection_id: SelectionIdDep, fields: FieldsDep) -> HTMLResponse:
    """Run a selection again with other labels for some rows, and show it."""
    changes = read_changes(fields)
    if not changes:
        raise BadRequest("no row has another label yet; choose one in the list of rows first")
    accepted = await do_large(visit.request, repeat_with_labels, selection_id, changes, read_field(fields, "key"))
    shown = visit.go_to(f"/pages/selections/{accepted.answer['id']}")
    shown.background = enqueueing(visit.services, accepted.job_id)
    return shown


def read_changes(fields: FormData) -> Changes:
    found: dict[str, dict[int, str | None]] = {}
    for name, label in fields.multi_items():
        if label and (field := _FIELD.fullmatch(name)):
            found.setdefault(field[1], {})[int(field[2])] = str(label)
    return found


def leave_out_suspicious(services: Services, owner_id: str, selection_id: str) -> dict[str, str]:
    """Store the rows of a selection without those whose label looks wrong; as `_change`."""
    view = results.get_view(services, owner_id, selection_id)
    left_out: dict[int, str | None] = {one.row: None for one in view.result.suspicious_labels}
    return _change(services, owner_id, selection_id, {"dataset": left_out})


def repeat_with_labels(services: Services, owner_id: str, selection_id: str, changes: Changes, key: str) -> Accepted:
    """Store the rows of a selection with other labels, and submit it again as it was asked for.

    Args:
        key: of the page, which may send the same changes twice.

    Raises:
        As `_change` and `submit_selection`.
    """
    ids = _change(services, owner_id, selection_id, changes)
    with services.database.session_scope() as session:
        job = selections.get(session, owner_id, selection_id)
        spec, name = StoredSpec.model_validate(job.spec), job.name
    body = JsonBody({"spec": build_again(spec, name), **ids})
    return submit_selection(services, owner_id, body, f"{key[:64]}-{body.digest()}" if key else None)


def _change(services: Services, owner_id: str, selection_id: str, changes: Changes) -> dict[str, str]:
    """Store the files of a selection with changed rows. Returns the ids by the field of a submission.

    Raises:
        NotFound, NotFinished, NoResult: the selection has no result.
        RefusedInput, OwnerFull: too few rows are left, or the owner has too many bytes stored.
    """
    with services.database.session_scope() as session:
        job = selections.get(session, owner_id, selection_id)
        ids = {"dataset": job.dataset_id, "test": job.test_dataset_id}
    fields = {"dataset": "dataset_id", "test": "test_dataset_id"}
    return {
        fields[part]: _store_changed(services, owner_id, one, changes.get(part, {}))
        for part, one in ids.items()
        if one is not None
    }


def _store_changed(services: Services, owner_id: str, dataset_id: str, labels: Mapping[int, str | None]) -> str:
    if not labels:
        return dataset_id
    with services.database.session_scope() as session:
        known = datasets.get(session, owner_id, dataset_id)
        rows = load_rows(session, dataset_id)
    with invalid_inputs():
        parsed = parse_inline(list(_relabel(rows, labels)), parsing_limits(services.settings))
    left_out = len(rows) - len(parsed.examples)
    what = f"without {show_count(left_out, 'row')}" if left_out else f"with {show_count(len(labels), 'other label')}"
    with services.database.session_scope() as session:
        name = None if known.name is None else shorten(f"{known.name} {what}", _MOST_CHARACTERS)
        return str(datasets.keep_rows(session, owner_id, services.settings, parsed, name).answer["id"])


def _relabel(rows: Iterable[Example], labels: Mapping[int, str | None]) -> Iterator[dict[str, str]]:
    for one in rows:
        if (label := labels.get(one.row, one.label)) is not None:
            yield {"text": one.text, "label": label}
