"""Validates the body of POST /selections and reports every error."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any

from app.errors import ContentTooLarge
from app.intake.checks import FindDataset, Source, ValidSubmission, check_spec
from app.intake.refusals import invalid_inputs
from app.intake.schemas import SelectionSpec, SubmissionBody
from app.settings import Settings
from app.web.strict_json import count_containers, parse_json
from app.web.validation import read_model
from lens_engine.errors import Faults
from lens_engine.reading import Dialect, ParsedDataset, ParsingLimits, parse_dataset, parse_inline

SMALL_BYTES = 64 * 1024
"""Largest submission that is worked on beside other requests (bytes). A larger one takes tens of milliseconds."""

_NAMES_DATASET = re.compile(rb'dataset_id"|\\u00[2-7]')
"""The field, or an escaped character of ASCII, by which the field could be written otherwise."""

_MAX_OTHER_CONTAINERS = 1000
"""Largest number of objects and lists of a JSON body besides two for each row."""


@dataclass(frozen=True)
class JsonSubmission:
    """A JSON body as received, spooled. `max_rows` bounds what is built of it."""

    body: IO[bytes]
    max_rows: int

    @cached_property
    def is_large(self) -> bool:
        """Whether much is to be done. A stored dataset may be large, and is read to check that the spec fits."""
        return _size(self.body) > SMALL_BYTES or _NAMES_DATASET.search(self._raw) is not None

    @cached_property
    def _raw(self) -> bytes:
        self.body.seek(0)
        return self.body.read()

    @cached_property
    def _parsed(self) -> Any:
        """The value of the JSON, parsed once.

        Raises:
            BadRequest, Unprocessable: as `parse_json`.
            ContentTooLarge: the body has far more objects and lists than a dataset and its test rows can have.
        """
        # A small object takes 24 times its JSON in memory, so the objects are counted before they are built.
        most = 2 * self.max_rows + _MAX_OTHER_CONTAINERS
        if count_containers(self._raw) > most:
            raise ContentTooLarge(
                f"the JSON has more than {most:,} objects and lists; send a larger dataset as a file, in a form "
                "(multipart/form-data)"
            )
        return parse_json(self._raw)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        canonical = json.dumps(self._parsed, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def validate(self, settings: Settings, find_dataset: FindDataset) -> ValidSubmission:
        """Parse and check the spec and the rows.

        Raises:
            BadRequest, ContentTooLarge: the body is not JSON, or has too many objects.
            Unprocessable: the body has another form, or names an unknown model or dataset.
            RefusedInput: the engine or the parser refuses the spec or the rows.
        """
        body = read_model(SubmissionBody, self._parsed)
        spec = check_spec(body.spec, settings)
        limits = _parsing_limits(settings)

        def read(rows: list[Any] | None, dataset_id: str | None, prefix: str, dataset: Source | None) -> Source | None:
            columns = _columns_of(dataset, body.columns)
            if rows is not None:
                return parse_inline(rows, limits, field=f"{prefix}examples", **columns)
            return None if dataset_id is None else find_dataset(dataset_id, f"{prefix}dataset_id")

        dataset, test = _read_both(
            lambda: read(body.examples, body.dataset_id, "", None),
            lambda dataset: read(body.test_examples, body.test_dataset_id, "test_", dataset),
            inline=True,
        )
        return spec.submit(dataset, test, is_inline=body.examples is not None)


@dataclass(frozen=True)
class FormSubmission:
    """A multipart body: the spec as JSON, one or two spooled files, and the names of their columns."""

    raw_spec: bytes
    dataset: IO[bytes]
    test: IO[bytes] | None
    columns: Mapping[str, str] = field(default_factory=dict)  #: `text_column` and `label_column`, if given
    dialect: Mapping[str, str] = field(default_factory=dict)  #: `delimiter` and `encoding`, if given

    @cached_property
    def is_large(self) -> bool:
        """Whether much is to be done."""
        files = [file for file in (self.dataset, self.test) if file is not None]
        return len(self.raw_spec) + sum(map(_size, files)) > SMALL_BYTES

    @cached_property
    def _spec(self) -> Any:
        """The value of the spec's JSON, parsed once. Raises the same errors as `parse_json`."""
        return parse_json(self.raw_spec, "spec")

    def digest(self) -> str:
        """SHA-256 of the canonical spec, the bytes of the files and the names of the columns."""
        spec = json.dumps(self._spec, sort_keys=True, separators=(",", ":"))
        parts = [hashlib.sha256(spec.encode()).hexdigest()]
        parts += [_file_digest(file) for file in (self.dataset, self.test) if file is not None]
        if words := {**self.columns, **self.dialect}:
            parts.append(json.dumps(words, sort_keys=True))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def validate(self, settings: Settings, find_dataset: FindDataset) -> ValidSubmission:  # noqa: ARG002
        """Parse and check the spec and the files. Raises the same errors as `JsonSubmission.validate`."""
        spec = check_spec(read_model(SelectionSpec, self._spec, "spec"), settings)

        def read(file: IO[bytes] | None, name: str, dataset: Source | None) -> Source | None:
            return None if file is None else self._parse(file, settings, name, _columns_of(dataset, self.columns))

        dataset, test = _read_both(
            lambda: read(self.dataset, "dataset", None),
            lambda dataset: read(self.test, "test", dataset),
            inline=False,
        )
        return spec.submit(dataset, test, is_inline=False)

    def _parse(self, file: IO[bytes], settings: Settings, name: str, columns: Mapping[str, str]) -> ParsedDataset:
        descriptor = file.fileno()  # moves a small upload from memory to disk
        file.flush()
        with open(descriptor, "rb", closefd=False) as reader:
            reader.seek(0)
            limits, dialect = _parsing_limits(settings), Dialect(**self.dialect)
            return parse_dataset(reader, limits, field=name, dialect=dialect, **columns)


RawSubmission = JsonSubmission | FormSubmission


def _columns_of(dataset: Source | None, given: Mapping[str, str]) -> Mapping[str, str]:
    """The columns of test rows: those of the dataset, whose texts they are compared with."""
    if not isinstance(dataset, ParsedDataset):
        return given
    return dict(zip(("text_column", "label_column"), dataset.columns, strict=True))


def _read_both(
    read_dataset: Callable[[], Source | None],
    read_test: Callable[[Source | None], Source | None],
    *,
    inline: bool,
) -> tuple[Source, Source | None]:
    """Read the dataset and the test rows, which have the columns of the dataset.

    Raises:
        RefusedInput: names the faults of both.
    """
    faults = Faults()
    dataset = test = None
    with invalid_inputs(inline=inline):
        with faults.noting():
            dataset = read_dataset()
        with faults.noting():
            test = read_test(dataset)
        faults.refuse()
    assert dataset is not None
    return dataset, test


def _parsing_limits(settings: Settings) -> ParsingLimits:
    """Limits of an upload according to the settings."""
    return ParsingLimits(
        max_bytes=settings.max_upload_bytes,
        max_rows=settings.max_rows,
        max_text_characters=settings.max_text_characters,
        max_label_characters=settings.max_label_characters,
        max_labels=settings.max_labels,
    )


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _file_digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
