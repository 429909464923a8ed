"""What a selection was asked for: its task, and the options that differ from a preset."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lens_engine.config import PresetName, SelectionConfig
from lens_engine.presets import PRESETS, flatten_options
from lens_engine.prompt.wording import show_count
from lens_engine.result import SelectionResult
from lens_engine.show.table import Table

_SUGGESTED = {"labels.rare": "labels with too few rows", "rows.unlabelled": "rows without a label"}
"""Options that a suggestion gives where a file needs them: what a run with them leaves out."""


class RunRequest(NamedTuple):
    """What was asked for. Several templates or instructions are those that the run chooses among."""

    model: str
    template: str | Sequence[str]
    instruction: str | Sequence[str] | None
    words: Mapping[str, str]  #: label words, by label
    preset: PresetName
    config: SelectionConfig

    @classmethod
    def of(cls, result: SelectionResult) -> "RunRequest":
        """What a result says of it: the wording that was chosen, and the preset that is nearest to its options."""
        task, config = result.task, SelectionConfig.model_validate(result.provenance.config)
        preset = min(PRESETS, key=lambda name: len(list_changes(name, config)))
        words = {one.label: one.word for one in task.label_words}
        return cls(result.provenance.model, task.template, task.instruction, words, preset, config)

    def list_parts(self) -> dict[str, str]:
        """The parts by name, and each option that differs from the preset by its path."""
        changes = list_changes(self.preset, self.config)
        left_out = {what: "left out" for path, what in _SUGGESTED.items() if changes.pop(path, None) is not None}
        changed = {path: "none" if value is None else str(value) for path, value in changes.items()}
        return {
            "model": self.model,
            "preset": self.preset + (f", with {show_count(len(changed), 'option')} changed" if changed else ""),
            **_list_texts("template", self.template),
            **(_list_texts("instruction", self.instruction) if self.instruction else {}),
            "label words": ", ".join(f"{label}: {word}" for label, word in self.words.items()),
            **left_out,
            **changed,
        }

    def tabulate(self) -> Table:
        """The parts as a table."""
        return Table("The task and its options", ("", "value"), tuple(self.list_parts().items()), words=("", "value"))


def list_changes(preset: PresetName, config: SelectionConfig) -> dict[str, Any]:
    """The options that differ from a preset, by their paths."""
    usual, own = (flatten_options(one.model_dump(mode="json")) for one in (PRESETS[preset], config))
    return {path: value for path, value in own.items() if value != usual[path]}


def _list_texts(name: str, given: str | Sequence[str]) -> dict[str, str]:
    """One text under its name, or several that the run chooses among, with their numbers."""
    if isinstance(given, str):
        return {name: given}
    return {f"{name} {number}": text or "none" for number, text in enumerate(given, start=1)}
