"""The spec of a selection as it is stored, and what a worker reads before it runs one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.errors import ErrorItem, point
from app.store.datasets import load_rows
from app.store.tables import Job
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.prompt.request import Wordings, combine_wordings, read_instructions, read_templates
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.types import Example, Record


class SpecUnreadable(Exception):
    """The stored spec cannot be read, so no attempt can run it."""

    code = "spec-unreadable"

    def __init__(self, detail: str, errors: list[ErrorItem]) -> None:
        super().__init__(detail)
        self.errors = errors


class StoredPart(Record):
    """Base of what is read of stored JSON: the fields that are needed, and no others."""

    model_config = ConfigDict(extra="ignore")


class StoredSpec(BaseModel):
    """The spec of a selection. The verbalizer is a list of pairs, because JSONB loses the order of keys.

    A run chooses among several templates or instructions; a single one is stored as a text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    template: str | tuple[str, ...]
    verbalizer: tuple[tuple[str, str], ...]
    separator: str
    instruction: str | tuple[str, ...] = ""
    preset: PresetName
    config: SelectionConfig

    @property
    def wordings(self) -> Wordings:
        words, templates = Verbalizer(dict(self.verbalizer)), read_templates(self.template)
        return combine_wordings(words, templates, read_instructions(self.instruction), self.separator)

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        """Read a stored spec to run it. Raises SpecUnreadable if an option is unknown, or a value not allowed."""
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            errors = [_describe_fault(fault["loc"], fault["msg"]) for fault in faults]
            found = "; ".join(item["detail"] for item in errors)
            raise SpecUnreadable(f"the stored spec cannot be read: {found}; submit a new one", errors) from error

    @classmethod
    def of(cls, model: str, wordings: Wordings, preset: PresetName, config: SelectionConfig) -> Self:
        """`wordings`: each template with each instruction, as `combine_wordings` makes them."""
        task, all_tasks = wordings.task, (wordings.task, *wordings.alternatives)
        return cls(
            model=model,
            template=_list_distinct(one.template.pattern for one in all_tasks),
            verbalizer=tuple(task.verbalizer.words.items()),
            separator=task.separator,
            instruction=_list_distinct(one.instruction for one in all_tasks),
            preset=preset,
            config=config,
        )


def _list_distinct(texts: Iterable[str]) -> str | tuple[str, ...]:
    """Each text once, in order; of equal texts the one."""
    found = tuple(dict.fromkeys(texts))
    return found[0] if len(found) == 1 else found


def _describe_fault(location: tuple[int | str, ...], message: str) -> ErrorItem:
    root, *rest = location
    place = ["options" if root == "config" else root, *rest]
    return {"detail": f"{'.'.join(map(str, place))}: {message}", "pointer": point("spec", *place)}


@dataclass(frozen=True, slots=True)
class Submission:
    """Everything that a worker needs to run a selection."""

    spec: StoredSpec
    examples: tuple[Example, ...]
    test: tuple[Example, ...] | None


def load_submission(session: Session, selection_id: str) -> Submission:
    """Read what a worker needs. Raises NoResultFound for a deleted selection, SpecUnreadable as `StoredSpec.read`."""
    selection = session.execute(select(Job).where(Job.id == selection_id)).scalar_one()
    test_id = selection.test_dataset_id
    return Submission(
        spec=StoredSpec.read(selection.spec),
        examples=load_rows(session, selection.dataset_id),
        test=None if test_id is None else load_rows(session, test_id),
    )
