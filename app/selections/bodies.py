"""The bodies of submissions: JSON, or a form with files."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from app.errors import ContentTooLarge
from app.web.request_body import count_structure, parse_json
from lens_engine.classifier.classifier import InputFormat
from lens_engine.files import Dialect, Named, ParsedDataset, ParsingLimits, ReadTexts, parse_dataset, read_texts
from lens_engine.files.table import ColumnNames

_MAX_OTHER_CONTAINERS = 1000
"""Largest number of objects and lists of a JSON body besides two for each row."""

_MAX_NAME_CHARACTERS = 200
_NOT_OF_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Zip, gzip, Parquet, Arrow and others have such a byte near their beginning. Texts in UTF-16 have it too."""


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The value of a JSON body."""

    value: Any

    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return _digest_json(self.value)


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A large JSON body, which is parsed where it is worked on."""

    path: Path

    def parse(self, max_rows: int) -> JsonBody:
        """Raises the same errors as `parse_body`."""
        return parse_body(self.path.read_bytes(), max_rows)


@dataclass(frozen=True)
class FormBody:
    """A multipart body: the spec as JSON, files, and how they are read."""

    raw_spec: bytes = b"{}"
    files: Mapping[str, Path] = field(default_factory=dict)  #: dataset, test, texts
    columns: Mapping[str, ColumnNames] = field(default_factory=dict)  #: `text_column` and `label_column`, if given
    dialect: Mapping[str, str] = field(default_factory=dict)  #: `delimiter` and `encoding`, if given
    names: Mapping[str, str] = field(default_factory=dict)  #: of the files, as far as they serve as display names

    @cached_property
    def spec(self) -> Any:
        """The value of the spec's JSON, parsed once. Raises the same errors as `parse_json`."""
        return parse_json(self.raw_spec, "spec")

    @property
    def has_binary_file(self) -> bool:
        """Whether a file is perhaps an archive, or of another format that no person writes. It reads them whole."""
        return any(_NOT_OF_TEXT.search(path.read_bytes()[:1024]) for path in self.files.values())

    def digest(self) -> str:
        """SHA-256 of the canonical spec, the bytes of the files and the names of the columns."""
        parts = [_digest_json(self.spec)]
        for part, path in sorted(self.files.items()):
            with path.open("rb") as file:
                parts.append(f"{part} {hashlib.file_digest(file, 'sha256').hexdigest()}")
        if words := {**self.columns, **self.dialect}:
            parts.append(json.dumps(words, sort_keys=True))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def parse(
        self, part: Literal["dataset", "test", "texts"], limits: ParsingLimits, columns: Mapping[str, ColumnNames]
    ) -> ParsedDataset | None:
        """The labelled texts of a file; None without the file. Raises InvalidDataset as `parse_dataset`."""
        if part not in self.files:
            return None
        with self.files[part].open("rb") as file:
            return parse_dataset(
                file, limits, field=part, columns=name_columns(columns), dialect=Dialect(**self.dialect)
            )

    def parse_texts(self, limits: ParsingLimits, usual: InputFormat | None) -> ReadTexts | None:
        """The rows of a file of texts; None without the file.

        `usual`: how the file was written that the classifier was made of; it is taken where this one does not tell.
        """
        if "texts" not in self.files:
            return None
        known = Dialect() if usual is None else Dialect(usual.encoding, usual.delimiter)
        columns = Named(self.columns.get("text_column"), usual_text=None if usual is None else usual.text_column)
        with self.files["texts"].open("rb") as file:
            return read_texts(file, limits, columns=columns, dialect=Dialect(**self.dialect), usual=known)


Body = JsonBody | FormBody


def parse_body(raw: bytes, max_rows: int) -> JsonBody:
    """Parse a JSON body."""
    # A small object takes 24 times its JSON in memory, so the objects are counted before they are built.
    most = 2 * max_rows + _MAX_OTHER_CONTAINERS
    if count_structure(raw)[0] > most:
        raise ContentTooLarge(
            f"the JSON has more than {most:,} objects and lists; send a larger dataset as a file, in a form "
            "(multipart/form-data)"
        )
    return JsonBody(parse_json(raw))


def name_columns(given: Mapping[str, ColumnNames]) -> Named:
    """The columns that a body names."""
    label = given.get("label_column")
    return Named(given.get("text_column"), None if label is None else str(label))


def name_file(name: str) -> str | None:
    """The name of a file without its folder; None for one that is no display name."""
    shown = re.split(r"[/\\]", name)[-1].strip()
    return shown if 0 < len(shown) <= _MAX_NAME_CHARACTERS and shown.isprintable() else None


def _digest_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
