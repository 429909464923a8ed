"""What a selection was asked for, as a stored spec says it."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.lifecycle.spec import StoredSpec
from app.pages.fields import TYPED_OPTIONS
from app.store.tables import Dataset
from lens_engine.presets import nest_options
from lens_engine.show.asked import RunRequest, list_changes


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


def find_sizes(session: Session, dataset_ids: Iterable[str]) -> dict[str, Any]:
    """Names and numbers of rows of datasets, by id."""
    columns = select(Dataset.id, Dataset.name, Dataset.num_rows)
    return {one.id: one for one in session.execute(columns.where(Dataset.id.in_(dataset_ids)))}
