"""The stored spec of a selection. Every option is resolved, so a later release runs it the same way."""

from typing import Self

from pydantic import BaseModel, ConfigDict

from lens_engine.config import PresetName, SelectionConfig
from lens_engine.task.template import Task, Template, Verbalizer

SPEC_VERSION = 2
"""Version of the stored spec. It grows when older workers cannot run the spec; they do not claim newer ones."""


class StoredSpec(BaseModel):
    """Content of the column `spec`. The verbalizer is a list of pairs, because JSONB loses the order of keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    template: str
    verbalizer: tuple[tuple[str, str], ...]
    separator: str
    preset: PresetName
    config: SelectionConfig

    @property
    def task(self) -> Task:
        return Task(Template(self.template), Verbalizer(dict(self.verbalizer)), self.separator)

    @classmethod
    def of(cls, model: str, task: Task, preset: PresetName, config: SelectionConfig) -> Self:
        return cls(
            model=model,
            template=task.template.pattern,
            verbalizer=tuple(task.verbalizer.words.items()),
            separator=task.separator,
            preset=preset,
            config=config,
        )
