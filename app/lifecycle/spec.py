"""The stored spec of a job. Every option is resolved, so a later release runs it the same way."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from app.problems import ErrorItem, point
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.task.template import Task, Template
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
    """The spec of a selection. The verbalizer is a list of pairs, because JSONB loses the order of keys."""

    VERSION: ClassVar[int] = SPEC_VERSION

    model: str
    template: str
    verbalizer: tuple[tuple[str, str], ...]
    separator: str
    instruction: str = ""
    preset: PresetName
    config: SelectionConfig

    @property
    def task(self) -> Task:
        words = Verbalizer(dict(self.verbalizer))
        return Task(Template(self.template), words, self.separator, instruction=self.instruction)

    @classmethod
    def of(cls, model: str, task: Task, preset: PresetName, config: SelectionConfig) -> Self:
        return cls(
            model=model,
            template=task.template.pattern,
            verbalizer=tuple(task.verbalizer.words.items()),
            separator=task.separator,
            instruction=task.instruction,
            preset=preset,
            config=config,
        )


def read_task(stored: dict[str, Any]) -> Task:
    """The task of a stored spec of any version, whatever its options are."""
    words = Verbalizer(dict(stored["verbalizer"]))
    return Task(Template(stored["template"]), words, stored["separator"], instruction=stored.get("instruction", ""))


def _describe_fault(location: tuple[int | str, ...], message: str) -> ErrorItem:
    root, *rest = location
    place = ["options" if root == "config" else root, *rest]
    return {"detail": f"{'.'.join(map(str, place))}: {message}", "pointer": point("spec", *place)}
