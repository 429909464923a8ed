"""What a selection was asked for: its task, its preset, and the options that differ from the preset."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.lifecycle.spec import StoredSpec
from app.store.tables import Dataset
from lens_engine.presets import PRESETS, nest_options
from lens_engine.show.table import Table
from lens_engine.task.wording import show_count


def list_asked(spec: StoredSpec) -> dict[str, str]:
    """The parts of a spec by name, and each option by its path."""
    changed = list_changes(spec)
    return {
        "model": spec.model,
        "preset": spec.preset + (f", with {show_count(len(changed), 'option')} changed" if changed else ""),
        **_list_texts("template", spec.template),
        **(_list_texts("instruction", spec.instruction) if spec.instruction else {}),
        "label words": ", ".join(f"{label}: {word}" for label, word in spec.verbalizer),
        **changed,
    }


def list_changes(spec: StoredSpec) -> dict[str, str]:
    """The options that differ from the preset, by their paths."""
    return {path: "none" if value is None else str(value) for path, value in _walk_changes(spec)}


def _walk_changes(spec: StoredSpec) -> Iterator[tuple[str, Any]]:
    usual = dict(_walk(PRESETS[spec.preset].model_dump(mode="json")))
    return ((path, value) for path, value in _walk(spec.config.model_dump(mode="json")) if value != usual[path])


def list_fields(spec: StoredSpec) -> dict[str, Any]:
    """The fields of the form of a new selection, as this spec would be written in it."""
    options = nest_options({path: value for path, value in _walk_changes(spec) if path != "use"})
    first = [one if isinstance(one, str) else one[0] for one in (spec.template, spec.instruction or "")]
    return {
        "template": first[0],
        "instruction": first[1],
        "words": dict(spec.verbalizer),
        "model": spec.model,
        "preset": spec.preset,
        "use": spec.config.use,
        "options": json.dumps(options) if options else "",
    }


def tabulate_asked(spec: StoredSpec) -> Table:
    """What was asked for, as a table."""
    return Table("What was asked", ("", "value"), tuple(list_asked(spec).items()), words=("", "value"))


def _list_texts(name: str, given: str | Sequence[str]) -> dict[str, str]:
    """One text under its name, or several that the run chooses among, with their numbers."""
    if isinstance(given, str):
        return {name: given}
    return {f"{name} {number}": text or "none" for number, text in enumerate(given, start=1)}


def _walk(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _walk(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def find_sizes(session: Session, dataset_ids: Iterable[str]) -> dict[str, Any]:
    """Names, numbers of rows and numbers of labels of datasets, by id."""
    names = func.jsonb_object_keys(Dataset.label_counts).table_valued("name")
    labels = select(func.count()).select_from(names).correlate(Dataset).scalar_subquery()
    columns = select(Dataset.id, Dataset.name, Dataset.num_rows, labels.label("labels"))
    return {one.id: one for one in session.execute(columns.where(Dataset.id.in_(dataset_ids)))}
