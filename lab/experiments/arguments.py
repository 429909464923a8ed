"""What both commands read from their arguments, and how they refuse."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lens_engine.errors import InvalidConfig, LensError
from lens_engine.presets import nest_options

EXIT_FAULTY = 2


def add_engine_options(parser: ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, help="number of torch threads (CPU only)")
    help_option = "engine option of all selections; repeatable"
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help=help_option)


@contextmanager
def refusing() -> Iterator[None]:
    """Print an error that the user can mend as one line, and exit with 2."""
    try:
        yield
    except (LensError, OSError) as error:
        say(f"Error: {error}")
        sys.exit(EXIT_FAULTY)


def read_options(words: Sequence[str]) -> dict[str, Any]:
    """Read words of the form GROUP.NAME=VALUE. A value is JSON, or else a word.

    Raises:
        InvalidConfig: a word has another form.
    """
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.strip() or not equals:
            raise InvalidConfig(f"{word!r} is not NAME=VALUE, e.g. search.iterations=2", field="options")
        try:
            options[name.strip()] = json.loads(value)
        except ValueError:
            options[name.strip()] = value.strip()
    return nest_options(options)


def split_words(text: str) -> tuple[str, ...]:
    """The words between commas, each once."""
    return tuple(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))


def read_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from 0 between commas.

    Raises:
        ValueError: a word is no such number.
    """
    if not all(word.isdecimal() for word in split_words(text)):
        raise ValueError(f"{text!r} is not a list of whole numbers from 0")
    return tuple(map(int, split_words(text)))


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
