"""What the demonstration leaves out of its preset, and the command that leaves nothing out."""

import shlex
from collections.abc import Mapping
from functools import reduce
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.presets import resolve_config

_COUNTS = {
    "candidates": "filtering.candidates",
    "candidates kept": "filtering.keep",
    "rounds of filtering": "filtering.rounds",
    "score examples of the first round": "filtering.initial_score_size",
    "first permutations": "search.first_permutations",
    "iterations": "search.iterations",
    "prompts of the classifier": "classifier.max_prompts",
    "fit rows": "classifier.fit_rows",
    "validation rows": "splits.validation",
    "confirmation rows": "splits.confirmation",
    "test rows": "splits.test",
}


def list_cut_lines(spec: Mapping[str, Any]) -> list[str]:
    """The smaller counts, and the command for the whole preset."""
    preset = spec["preset"]
    ours, whole = resolve_config(preset, spec.get("options")), resolve_config(preset)
    counts = [(name, _read(ours, path), _read(whole, path)) for name, path in _COUNTS.items()]
    smaller = ", ".join(f"{name} {count} ({at_most})" for name, count, at_most in counts if count != at_most)
    return [
        f"Smaller than the preset {preset} (in brackets), to fit four minutes on two slow cores: {smaller}.",
        f"The whole preset: {select_line(spec)}",
    ]


def select_line(spec: Mapping[str, Any]) -> str:
    """The selection on this machine, without a service and with the whole preset."""
    words = [f"--verbalizer {shlex.quote(f'{label}={word}')}" for label, word in spec["verbalizer"].items()]
    return (
        "lens select examples/support_desk/train.csv --test examples/support_desk/test.csv "
        f"--template {shlex.quote(spec['template'])} {' '.join(words)} --preset {spec['preset']}"
    )


def _read(config: SelectionConfig, path: str) -> Any:
    return reduce(getattr, path.split("."), config)
