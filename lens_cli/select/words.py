"""The label words of a command line."""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from lens_engine.errors import InvalidVerbalizer
from lens_engine.task.verbalizer import Verbalizer


def read_words(pairs: Sequence[str], list_labels: Callable[[], Collection[str]] = frozenset) -> dict[str, str]:
    """Read `label=word` pairs, labels that are their own words, JSON, or the name of a JSON file; in order.

    Args:
        list_labels: the labels of the dataset; the longest that begins a pair with several "=" is its label.

    Raises:
        InvalidVerbalizer: some have a word and others none, a label is repeated or gives no word, there is no such
            file, or the JSON is neither an object of labels and words nor a list of labels.
    """
    first = pairs[0]
    if len(pairs) == 1 and first.lstrip().startswith(("{", "[")):
        return _read_words_json(first)
    if len(pairs) == 1 and "=" not in first and first.lower().endswith(".json"):
        return _read_words_json(_read_file(Path(first)))
    if not any("=" in pair for pair in pairs):
        return dict(Verbalizer.of_labels(pairs).words)
    labels = list_labels() if any(pair.count("=") > 1 for pair in pairs) else frozenset[str]()
    words: dict[str, str] = {}
    for pair in pairs:
        label, equals, word = _cut(pair, labels)
        if not equals:
            message = f"{pair!r} is not label=word, e.g. positive=great; give a word for each label or for none"
            raise InvalidVerbalizer(message, field="verbalizer")
        if label in words:
            raise InvalidVerbalizer(f"label {label!r} is given twice; give it one word", field=f"verbalizer.{label}")
        words[label] = word
    return words


def _cut(pair: str, labels: Collection[str]) -> tuple[str, str, str]:
    """Label, "=" and word: cut after the longest known label, or else at the first "="."""
    known = [label for label in labels if pair.startswith(f"{label}=")]
    if not known:
        return pair.partition("=")
    label = max(known, key=len)
    return label, "=", pair[len(label) + 1 :]


def _read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        why = "it is not UTF-8" if isinstance(error, ValueError) else error.strerror
        raise InvalidVerbalizer(f"the label words of {path} cannot be read: {why}", field="verbalizer") from error


def _read_words_json(text: str) -> dict[str, str]:
    try:
        words = json.loads(text)
    except ValueError as error:
        raise InvalidVerbalizer(f"the verbalizer is not JSON: {error}", field="verbalizer") from error
    if isinstance(words, list) and all(isinstance(label, str) for label in words):
        return dict(Verbalizer.of_labels(words).words)
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        message = 'the verbalizer must be like {"positive": "great"}, or a list of labels'
        raise InvalidVerbalizer(message, field="verbalizer")
    return words
