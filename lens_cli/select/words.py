"""The label words of a command line, and notes and refusals that say which options to give."""

import json
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from lens_cli.refusals import list_settings
from lens_engine.errors import InvalidDataset, InvalidVerbalizer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.prompt.verbalizer import Verbalizer, find_silent, warn_of_silent
from lens_engine.types import Example


def read_words(pairs: Sequence[str], list_labels: Callable[[], Collection[str]] = frozenset) -> dict[str, str]:
    """Read `label=word` pairs, labels that are their own words, or the name of a JSON file; in order.

    The longest label of the dataset (`list_labels`) that begins a pair with several "=" is its label. Refused
    (InvalidVerbalizer): a word for some labels alone, a repeated label, and no file of labels and words.
    """
    if len(pairs) == 1 and "=" not in pairs[0] and pairs[0].lower().endswith(".json"):
        return _read_words_file(Path(pairs[0]))
    if not any("=" in pair for pair in pairs):
        return dict(Verbalizer.of_labels(pairs).words)
    labels = list_labels() if any(pair.count("=") > 1 for pair in pairs) else frozenset[str]()
    words: dict[str, str] = {}
    for pair in pairs:
        if "=" not in pair:
            message = f"{pair!r} is not label=word, e.g. positive=great; give a word for each label or for none"
            raise InvalidVerbalizer(message, field="verbalizer")
        known = (label for label in labels if pair.startswith(f"{label}="))
        label = max(known, key=len, default=pair.partition("=")[0])
        if label in words:
            raise InvalidVerbalizer(f"label {label!r} is given twice; give it one word", field=f"verbalizer.{label}")
        words[label] = pair[len(label) + 1 :]
    return words


def _read_words_file(path: Path) -> dict[str, str]:
    try:
        words = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InvalidVerbalizer(f"the label words of {path} cannot be read: {error}", field="verbalizer") from error
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        message = f'{path} must hold an object of labels and words, like {{"positive": "great"}}'
        raise InvalidVerbalizer(message, field="verbalizer")
    return words


_KEPT = ("--output", "--classifier")
_MOST_OPTIONS = 20  #: largest number of label words that a note writes as options


def note_language(examples: Sequence[Example], model: str) -> list[str]:
    """A note if the bundled model, which is English, shall read texts of another language."""
    from lens_engine.prompt.language import warn_of_language  # slow to import, as that of a refusal is

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


def advise(error: InvalidDataset) -> str | None:
    """The command that was given with the options that fix all faults, if there are such."""
    settings, words = list_settings(error), sys.argv[1:]
    more = [word for name, value in (settings or {}).items() for word in ("--option", f"{name}={value}")]
    if not any(word.partition("=")[0] in _KEPT for word in words):
        more += ["--classifier", "classifier.json"]
    return f"this command has the options: {shlex.join(['lens', *words, *more])}" if settings else None
