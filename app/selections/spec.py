"""The stored spec of a selection. Every option is resolved, so a later release runs it the same way."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from lens_engine.config import PresetName, SelectionConfig
from lens_engine.presets import overlay_options
from lens_engine.task.template import Task, Template, Verbalizer

SPEC_VERSION = 4
"""Version of the stored spec. It grows when older workers cannot run the spec; they do not claim newer ones.

Version 4 has the options `labels`, which older workers refuse as unknown. A spec without them means their defaults.
"""

_BEFORE_CLASSIFIERS: dict[str, dict[str, Any]] = {
    "search": {"objective": "accuracy"},
    "classifier": {"max_prompts": 1, "head": "argmax", "fit_rows": 0},
    "report": {"random_ensemble": False, "random_prompts": False, "long_prompt": False, "bag_of_words": False},
}
"""What a spec of version 2 means in the options that it does not name."""


class StoredSpec(BaseModel):
    """Content of the column `spec`. The verbalizer is a list of pairs, because JSONB loses the order of keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    template: str
    verbalizer: tuple[tuple[str, str], ...]
    separator: str
    preset: PresetName
    config: SelectionConfig

    @model_validator(mode="before")
    @classmethod
    def keep_the_meaning_of_version_2(cls, values: Any) -> Any:
        """An API of the release before stores such specs until it is restarted, also after the migration."""
        config = values.get("config") if isinstance(values, dict) else None
        if not isinstance(config, dict) or "classifier" in config:
            return values
        return {**values, "config": overlay_options(config, _BEFORE_CLASSIFIERS)}

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
