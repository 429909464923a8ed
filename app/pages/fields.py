"""The fields of a form, the submission that they mean, and what a stored spec would have written in them."""

import json
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.datastructures import FormData

from app.errors import AppError, Unprocessable, point
from app.lifecycle.spec import StoredSpec
from app.store.tables import Dataset
from app.web.parameters import read_number
from app.web.request_body import check_media_type, parse_json
from lens_engine.presets import flatten_options, nest_options, overlay_options
from lens_engine.prompt.text_checks import UNSTORABLE
from lens_engine.show.report import RunRequest, list_changes

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 4000
"""Two fields for each label, and others."""
_MOST_DIGITS = 19

_DATASETS = ("dataset_id", "test_dataset_id")
_SPEC = ("template", "instruction", "model", "preset", "name")
TYPED_OPTIONS = ("seed", "num_demonstrations", "budget.max_seconds")
"""Options of the spec that are typed in fields of their own, by their paths."""

_OPTIONS = (*TYPED_OPTIONS, "use", "labels.rare")


async def read_form(request: Request) -> FormData:
    """The form of a request. Raises UnsupportedMediaType (no form), Unprocessable (a field that no store keeps)."""
    check_media_type(request, _FORM, send=f"a form ({_FORM})")
    fields = await request.form(max_files=0, max_fields=_MOST_FIELDS)
    for name, value in fields.multi_items():
        if UNSTORABLE.search(str(value)):
            raise Unprocessable.at(point(name), f"`{name}` holds NUL, which no store keeps; take it out")
    return fields


FieldsDep = Annotated[FormData, Depends(read_form)]


def build_submission(fields: FormData) -> dict[str, Any]:
    """The body of POST /selections that a form means. An empty field means the default.

    Raises:
        Unprocessable: the further options are not JSON, or differ from a field.
    """
    spec: dict[str, Any] = {name: found for name in _SPEC if (found := read_field(fields, name))}
    if words := read_words(fields):
        spec["verbalizer"] = words
    chosen = {path: _read_value(value) for path in _OPTIONS if (value := read_field(fields, path))}
    further = read_field(fields, "options")
    options = nest_options(_read_options(further)) if further else {}
    others = flatten_options(options)
    for path in chosen.keys() & set(TYPED_OPTIONS):
        value, other = chosen[path], others.get(path)
        if other not in (None, value):
            raise Unprocessable.at(
                point("options"), f"the field says {value} for {path}, and the further options say {other}; leave one"
            )
    spec["options"] = overlay_options(nest_options(chosen), options)
    ids = {name: found for name in _DATASETS if (found := read_field(fields, name))}
    return {"spec": spec, **ids}


def read_field(fields: FormData, name: str) -> str:
    """A field as it was written; "" without it. Browsers may end lines by two characters."""
    return str(fields.get(name) or "").replace("\r\n", "\n")


def read_words(fields: FormData) -> dict[str, str]:
    labels, words = fields.getlist("label"), fields.getlist("word")
    return {str(label): str(word) for label, word in zip(labels, words, strict=False)}


def _read_value(text: str) -> Any:
    """A number or a word of the form."""
    number = read_number(text, _MOST_DIGITS)
    if number is None and text.isascii() and text.replace(".", "", 1).isdecimal() and len(text) <= _MOST_DIGITS:
        return float(text)
    return text if number is None else number


def _read_options(text: str) -> dict[str, Any]:
    try:
        found = parse_json(text, "options")
    except AppError as error:
        raise Unprocessable(f"the further options are no JSON: {error.detail}") from error
    if not isinstance(found, dict):
        raise Unprocessable('the further options must be an object, such as {"search": {"beam_width": 4}}')
    return found


def read_request(spec: StoredSpec) -> RunRequest:
    """What a stored spec asks for."""
    return RunRequest(spec.model, spec.template, spec.instruction, dict(spec.verbalizer), spec.preset, spec.config)


def list_fields(spec: StoredSpec) -> dict[str, Any]:
    """The fields of the form of a new selection, as this spec would be written in it."""
    changes = list_changes(spec.preset, spec.config)
    named = {path: changes.pop(path) for path in TYPED_OPTIONS if path in changes}
    for path in ("use", "labels.rare"):  # which the form has by itself
        changes.pop(path, None)
    options = nest_options(changes)
    first = [one if isinstance(one, str) else one[0] for one in (spec.template, spec.instruction or "")]
    return {
        "template": first[0],
        "instruction": first[1],
        "words": dict(spec.verbalizer),
        "model": spec.model,
        "preset": spec.preset,
        "use": spec.config.use,
        "named": {path: value for path, value in named.items() if value is not None},
        "options": json.dumps(options) if options else "",
    }


def build_again(spec: StoredSpec, name: str | None) -> dict[str, Any]:
    """The spec of a submission that asks for the same."""
    parts = spec.model_dump(mode="json", include={"template", "instruction", "separator", "model", "preset"})
    options = nest_options(list_changes(spec.preset, spec.config))
    return {**parts, "verbalizer": dict(spec.verbalizer), "options": options, "name": name}


def find_sizes(session: Session, dataset_ids: Iterable[str]) -> dict[str, Any]:
    """Names and numbers of rows of datasets, by id."""
    columns = select(Dataset.id, Dataset.name, Dataset.num_rows)
    return {one.id: one for one in session.execute(columns.where(Dataset.id.in_(dataset_ids)))}
