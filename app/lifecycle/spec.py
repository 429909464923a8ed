"""The stored spec of a job. Every option is resolved, so a later release runs it the same way."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from app.problems import ErrorItem, point
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.task.combinations import Wordings, combine_wordings, read_instructions, read_templates
from lens_engine.task.verbalizer import Verbalizer

SPEC_VERSION = 1
"""Version of the stored spec. It grows when older workers cannot run the spec; they do not claim newer ones.

A change of the options in `lens_engine/config.py` that an older worker refuses needs the next version.
"""


class SpecOfNewerRelease(Exception):
    """The spec has options that this release does not know."""

    code = "spec-newer"


class SpecRefused(Exception):
    """No worker of this release or of a later one can run the stored spec."""

    code = "spec-refused"

    def __init__(self, detail: str, errors: list[ErrorItem]) -> None:
        super().__init__(detail)
        self.errors = errors


class JobSpec(BaseModel):
    """Base of what the column `spec` holds, of jobs of any kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    VERSION: ClassVar[int]

    @classmethod
    def read(cls, stored: dict[str, Any], version: int) -> Self:
        """Read a stored spec to run it. What only shows a spec shows the stored JSON and does not call this.

        Args:
            version: the version that is stored with the spec.

        Raises:
            SpecOfNewerRelease: the spec has options that this release does not know, and is not older.
            SpecRefused: this release refuses the options of the spec.
        """
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            errors = [_describe_fault(fault["loc"], fault["msg"]) for fault in faults]
            found = "; ".join(item["detail"] for item in errors)
            # A release that took an option away raised the version, so an unknown option of this version is new.
            is_unknown = any(fault["type"] == "extra_forbidden" for fault in faults)
            if version > cls.VERSION or (version == cls.VERSION and is_unknown):
                raise SpecOfNewerRelease(
                    f"the spec has version {version}, and this release runs specs up to version {cls.VERSION}: {found}"
                ) from error
            raise SpecRefused(
                f"the spec has version {version}, and this release refuses it: {found}; submit a new one with options "
                "of this release",
                errors,
            ) from error


class StoredSpec(JobSpec):
    """The spec of a selection. The verbalizer is a list of pairs, because JSONB loses the order of keys.

    A run chooses among several templates or instructions; a single one is stored as a text.
    """

    VERSION: ClassVar[int] = SPEC_VERSION

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
    def of(cls, model: str, wordings: Wordings, preset: PresetName, config: SelectionConfig) -> Self:
        """
        Args:
            wordings: each template with each instruction, as `combine_wordings` makes them.
        """
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
