"""Presets: complete configurations, and options laid over a preset."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from lens_engine.config import (
    ClassifierOptions,
    FilteringOptions,
    PresetName,
    RowOptions,
    SearchOptions,
    SelectionConfig,
)
from lens_engine.errors import InvalidConfig
from lens_engine.options import refuse_options

PRESETS: dict[PresetName, SelectionConfig] = {
    "quick": SelectionConfig(
        rows=RowOptions(judging=240, test=300),
        filtering=FilteringOptions(candidates=192, keep=64, rounds=2, initial_score_size=5, max_score_size=64),
        search=SearchOptions(beam_width=4, children=4, iterations=3, first_permutations=80, halvings=4),
        classifier=ClassifierOptions(embeddings="auto"),
    ),
    "standard": SelectionConfig(
        classifier=ClassifierOptions(fit_rows=2000, embeddings="auto"),
        filtering=FilteringOptions(candidates=2000, keep=250, rounds=3),
        search=SearchOptions(iterations=10, first_permutations=1024, halvings=3),
    ),
    # The paper's letter. Lambda is 1 on the sum over the seven other demonstrations; the option weighs their mean.
    "paper": SelectionConfig(
        rows=RowOptions(search=100_000, test=None),
        filtering=FilteringOptions(contribution="vocabulary", rho=2.0),
        search=SearchOptions(diversity_weight=7.0, is_apart=True, forms=("fixed",)),
        classifier=ClassifierOptions(kind="none"),
    ),
}


def resolve_config(preset: PresetName = "quick", options: Mapping[str, Any] | None = None) -> SelectionConfig:
    """Lay `options` over a preset: nested like SelectionConfig, or by dotted names such as `search.beam_width`.

    Raises:
        InvalidConfig: options are unknown, out of range or in conflict; `problems` names each with its dotted path.
    """
    if preset not in PRESETS:
        raise InvalidConfig(f"preset {preset!r} is not one of {', '.join(PRESETS)}", field="preset")
    merged = overlay_options(PRESETS[preset].model_dump(), nest_options(options or {}))
    try:
        return SelectionConfig.model_validate(merged)
    except ValidationError as error:
        raise refuse_options(error) from None


def nest_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a dotted name (`group.name`) written as options of a group.

    Raises:
        InvalidConfig: an option is given twice, or a name is a value and a group.
    """
    nested: dict[str, Any] = {}
    for path, value in options.items():
        name = path.removeprefix("options.") if isinstance(path, str) else path
        if isinstance(name, str) and name.count(".") == 1:
            group, name = name.split(".")
            value = {name: value}
            name = group
        below = nested.setdefault(name, {} if isinstance(value, Mapping) else value)
        if isinstance(value, Mapping) and isinstance(below, dict):
            twice = next((f"{name}.{inner}" for inner in value if inner in below), None)
            below.update(value)
        else:
            twice = None if below is value else name
        if twice is not None:
            raise InvalidConfig(f"option {twice} is given twice; give it once", field=f"options.{twice}")
    return nested


def flatten_options(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The options of a nested tree by their dotted names: the inverse of `nest_options`."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{above}{name}"
        flat.update(flatten_options(value, f"{path}.") if isinstance(value, Mapping) else {path: value})
    return flat


def overlay_options(*trees: Mapping[str, Any]) -> dict[str, Any]:
    """One tree of options from several. The later tree wins, group by group."""
    merged: dict[str, Any] = {}
    for tree in trees:
        for name, value in tree.items():
            below = merged.get(name)
            if isinstance(below, dict) and isinstance(value, Mapping):
                value = overlay_options(below, value)
            merged[name] = value
    return merged
