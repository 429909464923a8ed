"""The bodies of submissions: what is in them, parsed once, and the rows that they hold."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from typing import IO, Any, Literal

from app.errors import ContentTooLarge
from app.settings import Settings
from app.web.strict_json import count_containers, parse_json
from lens_engine.classifier.input_format import InputFormat
from lens_engine.reading import Dialect, Named, ParsedDataset, ParsingLimits, ReadTexts, parse_dataset, read_texts
from lens_engine.reading.table import ColumnNames

SMALL_BYTES = 64 * 1024
"""Largest submission that is worked on beside other requests (bytes). A larger one takes tens of milliseconds."""

_ESCAPES = re.compile(rb"\\u00[2-7]")
"""An escaped character of ASCII, by which the name of a field or an id could be written otherwise."""

_MAX_OTHER_CONTAINERS = 1000
"""Largest number of objects and lists of a JSON body besides two for each row."""

_MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True)
class JsonSubmission:
    """A JSON body as received, spooled. `max_rows` bounds what is built of it."""

    body: IO[bytes]
    max_rows: int
    stored_bytes: int | None = None  #: of the datasets that it names; None if nobody looked

    @cached_property
    def is_large(self) -> bool:
        """Whether much is to be done. A stored dataset may be large, and is read to check that the spec fits."""
        return _size(self.body) > SMALL_BYTES or (
            self._names_dataset and (self.stored_bytes is None or self.stored_bytes > SMALL_BYTES)
        )

    @property
    def depends_on_datasets(self) -> bool:
        """Whether the size of stored datasets decides if it is large, and the body shows their ids."""
        return _size(self.body) <= SMALL_BYTES and self._names_dataset and not _ESCAPES.search(self.raw)

    @cached_property
    def _names_dataset(self) -> bool:
        return b'dataset_id"' in self.raw or _ESCAPES.search(self.raw) is not None

    @cached_property
    def raw(self) -> bytes:
        """The body."""
        self.body.seek(0)
        return self.body.read()

    @cached_property
    def parsed(self) -> Any:
        """The value of the JSON, parsed once.

        Raises:
            BadRequest, Unprocessable: as `parse_json`.
            ContentTooLarge: the body has far more objects and lists than a dataset and its test rows can have.
        """
        # A small object takes 24 times its JSON in memory, so the objects are counted before they are built.
        most = 2 * self.max_rows + _MAX_OTHER_CONTAINERS
        if count_containers(self.raw) > most:
            raise ContentTooLarge(
                f"the JSON has more than {most:,} objects and lists; send a larger dataset as a file, in a form "
                "(multipart/form-data)"
            )
        return parse_json(self.raw)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        canonical = json.dumps(self.parsed, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class FormSubmission:
    """A multipart body: the spec as JSON, spooled files, and the names of their columns."""

    raw_spec: bytes
    dataset: IO[bytes] | None = None
    test: IO[bytes] | None = None
    texts: IO[bytes] | None = None
    columns: Mapping[str, ColumnNames] = field(default_factory=dict)  #: `text_column` and `label_column`, if given
    dialect: Mapping[str, str] = field(default_factory=dict)  #: `delimiter` and `encoding`, if given
    names: Mapping[str, str] = field(default_factory=dict)  #: of the files, as far as they serve as display names

    @cached_property
    def is_large(self) -> bool:
        """Whether much is to be done."""
        return len(self.raw_spec) + sum(map(_size, self.files)) > SMALL_BYTES

    @property
    def files(self) -> list[IO[bytes]]:
        return [file for file in (self.dataset, self.test, self.texts) if file is not None]

    @cached_property
    def spec(self) -> Any:
        """The value of the spec's JSON, parsed once. Raises the same errors as `parse_json`."""
        return parse_json(self.raw_spec, "spec")

    def digest(self) -> str:
        """SHA-256 of the canonical spec, the bytes of the files and the names of the columns."""
        spec = json.dumps(self.spec, sort_keys=True, separators=(",", ":"))
        parts = [hashlib.sha256(spec.encode()).hexdigest()]
        parts += [_file_digest(file) for file in self.files]
        if words := {**self.columns, **self.dialect}:
            parts.append(json.dumps(words, sort_keys=True))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def parse(
        self, name: Literal["dataset", "test"], limits: ParsingLimits, columns: Mapping[str, ColumnNames]
    ) -> ParsedDataset | None:
        """The labelled texts of a file; None without the file.

        Raises:
            InvalidDataset: as `parse_dataset`.
        """
        file = getattr(self, name)
        if file is None:
            return None
        with _reading(file) as reader:
            named, dialect = name_columns(columns), Dialect(**self.dialect)
            return parse_dataset(reader, limits, field=name, columns=named, dialect=dialect)

    def parse_texts(self, limits: ParsingLimits, usual: InputFormat | None) -> ReadTexts | None:
        """The rows of a file of texts; None without the file.

        Args:
            usual: how the file was written that the classifier was made of; it is taken where this one does not tell.

        Raises:
            InvalidDataset: as `read_texts`.
        """
        if self.texts is None:
            return None
        known = Dialect() if usual is None else Dialect(usual.encoding, usual.delimiter)
        with _reading(self.texts) as reader:
            columns = Named(self.columns.get("text_column"), usual_text=None if usual is None else usual.text_column)
            return read_texts(reader, limits, columns=columns, dialect=Dialect(**self.dialect), usual=known)


def name_columns(given: Mapping[str, ColumnNames]) -> Named:
    """The columns that a body names."""
    return Named(given.get("text_column"), given.get("label_column"))


def name_file(name: str) -> str | None:
    """The name of a file without its folder; None for one that is no display name."""
    shown = re.split(r"[/\\]", name)[-1].strip()
    return shown if 0 < len(shown) <= _MAX_NAME_CHARACTERS and shown.isprintable() else None


@contextmanager
def _reading(file: IO[bytes]) -> Iterator[BufferedReader]:
    descriptor = file.fileno()  # moves a small upload from memory to disk
    file.flush()
    with open(descriptor, "rb", closefd=False) as reader:
        reader.seek(0)
        yield reader


@dataclass(frozen=True)
class NoSubmission:
    """No body, for work that is as much as a large submission takes."""

    is_large: bool = True


RawSubmission = JsonSubmission | FormSubmission
AnySubmission = RawSubmission | NoSubmission


def parsing_limits(settings: Settings, *, skips_unlabelled: bool = False) -> ParsingLimits:
    """Limits of an upload according to the settings.

    Args:
        skips_unlabelled: whether any share of the rows may lack a label.
    """
    return ParsingLimits(
        max_bytes=settings.max_upload_bytes,
        max_kept_bytes=settings.max_stored_bytes,
        max_rows=settings.max_rows,
        max_text_characters=settings.max_text_characters,
        max_label_characters=settings.max_label_characters,
        max_labels=settings.max_labels,
        skips_unlabelled=skips_unlabelled,
    )


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _file_digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
