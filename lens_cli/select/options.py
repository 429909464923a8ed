"""The options of `lens select`, and what they say: a task, a configuration, files to write."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lens_cli.asked_model import ModelOptions, model_option
from lens_cli.refusals import RefusedInput, check_output
from lens_cli.select.words import read_words
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import Faults, InvalidConfig
from lens_engine.presets import nest_options, overlay_options, resolve_config
from lens_engine.prompt.request import TaskRequest, read_instructions, read_templates
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE, Verbalizer

_wording = partial(typer.Option, rich_help_panel="The prompt", show_default=False)
_search = partial(typer.Option, rich_help_panel="The search")
_written = partial(typer.Option, rich_help_panel="Files to write", metavar="FILE")


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The task as it was given."""

    template: Annotated[
        list[str] | None,
        typer.Option(
            help="Prompt with one {text} followed by one {label}, e.g. '{text} It was {label}.'; repeatable: the run "
            f"chooses among several. Default: {DEFAULT_TEMPLATE!r}, with the name of the column of "
            "labels for Topic if it says what the labels are."
        ),
    ] = None
    verbalizer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=WORD",
            help="Label word of one label; repeat for each label. LABEL alone: the label is its own word. Or a JSON "
            "file, with an object of labels and words. Default: each label of TRAIN is its own word.",
        ),
    ] = None
    separator: Annotated[str, _wording(help="Text that ends each demonstration; default: a line break.")] = "\n"
    instruction: Annotated[
        list[str] | None,
        _wording(
            help="Text that stands once before the demonstrations, or begins the system message of a chat; '' for "
            "none; repeatable: each is tried with each template, at most 16 wordings. Default: none. lens suggest "
            "proposes some."
        ),
    ] = None

    def read(self, list_labels: Callable[[], Collection[str]] = frozenset) -> TaskRequest:
        """The parts of a task that were given, or all their faults; None or nothing for a part that was not.

        `list_labels` gives the labels of the dataset. It is asked where a label word could be cut at several "=".
        """
        faults, words, patterns, asked = Faults(), None, read_templates(None), read_instructions("")
        with faults.noting():
            patterns = read_templates(self.template or None)
        with faults.noting():
            words = Verbalizer(read_words(self.verbalizer, list_labels)) if self.verbalizer else None
        with faults.noting():
            asked = read_instructions(self.instruction or "")
        faults.refuse()
        return TaskRequest(patterns, words, self.separator, asked)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The configuration as it was given."""

    preset: Annotated[
        PresetName,
        typer.Option(
            metavar="NAME",
            help="Complete configuration to start from. quick: minutes on a CPU with a small model. "
            "standard: with many rows five to ten times the work of quick. paper: the paper's settings.",
        ),
    ] = "quick"
    seed: Annotated[int | None, _search(metavar="N", min=0, help="Seed of every random choice; default: 0.")] = None
    option: Annotated[
        list[str] | None,
        _search(
            metavar="NAME=VALUE",
            help="Option that overrides the preset, e.g. search.beam_width=8; repeatable. docs/reference.md lists "
            "the names.",
        ),
    ] = None

    def read(self, *, max_cost: float | None = None) -> SelectionConfig:
        """The preset overridden by the options. The value of an option is JSON, or else a plain word.

        An option that is unknown, out of range, or not `name=value` is refused (InvalidConfig). `max_cost` is the limit
        of the budget (USD); None for the preset's.
        """
        named: dict[str, Any] = {} if self.seed is None else {"seed": self.seed}
        if max_cost is not None:
            named["budget"] = {"max_cost": max_cost}
        return resolve_config(self.preset, overlay_options(named, _read_options(self.option or ())))


@dataclass(frozen=True, slots=True)
class SelectionFiles:
    """The files that a selection leaves. Each is replaced if it exists."""

    output: Annotated[Path | None, typer.Option(help="File for the complete result as JSON; it is replaced.")] = None
    classifier: Annotated[
        Path | None, typer.Option(help="File for the classifier as JSON; lens classify reads it. It is replaced.")
    ] = None
    report: Annotated[
        Path | None, _written(help="File for a report for people, with texts of your rows, as HTML; it is replaced.")
    ] = None
    suspicious: Annotated[
        Path | None,
        _written(help="File for the rows whose label may be wrong as CSV, the most suspicious first; it is replaced."),
    ] = None
    unlabelled: Annotated[
        Path | None,
        _written(
            help="File for the rows of TRAIN with a text and no label as CSV, which lens classify reads; it is "
            "replaced."
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        _written(
            help="Checkpoint file. If it exists and belongs to this run, the run resumes from it. Without one, the "
            "same command resumes from the pair cache."
        ),
    ] = None

    def check(self, *sources: Path | None) -> None:
        """Refuse a path where no file can be written, which a source has, or which is given twice."""
        paths = [found for one in fields(self) if (found := getattr(self, one.name)) is not None]
        for one in fields(self):
            path: Path | None = getattr(self, one.name)
            check_output(path, f"--{one.name}", sources=sources)
            if path is not None and sum(path.resolve() == other.resolve() for other in paths) > 1:
                raise RefusedInput(f"two options name the file {path}; name two files", f"where: --{one.name}")


@dataclass(frozen=True, slots=True)
class SelectionModelOptions(ModelOptions):
    """The model of a selection, which several devices may share."""

    actors: Annotated[
        int,
        model_option(
            metavar="N", min=1, help="Number of processes that share the run; each takes one GPU if there are GPUs."
        ),
    ] = 1
    ray_address: Annotated[
        str | None, model_option(help="Address of a running Ray cluster for these processes: HOST:PORT, or auto.")
    ] = None
    pair_cache: Annotated[
        bool, model_option(metavar="", help="Cache of computed scores: read scores of earlier runs and store new ones.")
    ] = True


def _read_options(options: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option in options:
        path, equals, value = option.partition("=")
        if not equals or not path:
            raise InvalidConfig(f"{option!r} is not name=value, e.g. search.beam_width=8", field="options")
        found[path.removeprefix("options.")] = _read_value(value)
    return nest_options(found)


def _read_value(text: str) -> Any:
    """A value of an option: JSON, or else a plain word."""
    try:
        return json.loads(text)
    except ValueError:
        return text
