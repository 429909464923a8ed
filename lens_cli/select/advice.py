"""The last line of a refusal: the command that would be taken."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lens_cli.refusals import list_settings
from lens_engine.errors import InvalidDataset
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.reading import BadRows, DatasetEmpty, DatasetTooLarge, UnsupportedDatasetFormat
from lens_engine.task.language import warn_of_language
from lens_engine.task.silent_words import find_silent, warn_of_silent
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.types import Example

_UNREADABLE = (BadRows, DatasetEmpty, DatasetTooLarge, UnsupportedDatasetFormat)
_KEPT = ("--output", "--classifier")
_MOST_OPTIONS = 20
"""Largest number of label words that a note writes as options."""


def note_language(examples: Sequence[Example], model: str) -> list[str]:
    """A note if the bundled model, which is English, shall read texts of another language."""
    if model != BUNDLED_MODEL:
        return []
    warning = warn_of_language(examples)
    return [] if warning is None else [warning]


def note_silent_words(verbalizer: Verbalizer) -> list[str]:
    """A note if label words say nothing, with options to fill in; of many labels, with a file for them."""
    labels, silent = list(verbalizer.words), find_silent(verbalizer)
    if len(labels) <= _MOST_OPTIONS:
        options = [f"{label}={'…' if label in silent else verbalizer.words[label]}" for label in labels]
        flags = " ".join(f"--verbalizer {shlex.quote(one)}" for one in options)
    else:
        first = json.dumps({labels[0]: "…", labels[1]: "…"}, ensure_ascii=False)
        flags = f"--verbalizer words.json, a file with a word for each label: {first[:-1]}, …}}"
    return [f"{sentence}: {flags}" for sentence in warn_of_silent(verbalizer)]


def advise(error: InvalidDataset, train: Path) -> str | None:
    """The command with the options that fix all faults, or else the one that looks at the file, if that can help."""
    settings = list_settings(error)
    if settings:
        return f"this command has the options: {_write_command(settings)}"
    if isinstance(error, _UNREADABLE) or any(fault.field.startswith("test") for fault in error.faults):
        return None  # lens suggest would refuse the file too, or does not read it
    return f"lens suggest {shlex.quote(str(train))} shows what this file offers, and the command that reads it"


def _write_command(settings: Mapping[str, str]) -> str:
    """The command that was given, with more options, and a file for the classifier where it lacks."""
    words = sys.argv[1:]
    more = [word for name, value in settings.items() for word in ("--option", f"{name}={value}")]
    if not any(word.partition("=")[0] in _KEPT for word in words):
        more += ["--classifier", "classifier.json"]
    return shlex.join(["lens", *words, *more])
