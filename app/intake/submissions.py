"""Validates the body of POST /selections and reports every error."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import IO, Any, TypeVar

from app.errors import ContentTooLarge, UnknownModelName
from app.intake.ceilings import bound_budget, list_excesses
from app.intake.refusals import as_problem, invalid_inputs
from app.intake.schemas import SelectionSpec, SubmissionBody
from app.lifecycle.spec import StoredSpec
from app.settings import Settings
from app.web.strict_json import count_containers, parse_json
from app.web.validation import read_model
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import Faults, InvalidInput
from lens_engine.presets import resolve_config
from lens_engine.reading import ParsedDataset, ParsingLimits, parse_dataset, parse_inline
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.task.request import TaskRequest
from lens_engine.task.template import Template, Verbalizer
from lens_engine.types import Example

SMALL_BYTES = 64 * 1024
"""Largest submission that is worked on beside other requests (bytes). A larger one takes tens of milliseconds."""

_NAMES_DATASET = re.compile(rb'dataset_id"|\\u00[2-7]')
"""The field, or an escaped character of ASCII, by which the field could be written otherwise."""

_MAX_OTHER_CONTAINERS = 1000
"""Largest number of objects and lists of a JSON body besides two for each row."""
_Built = TypeVar("_Built")


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A dataset that is already stored."""

    id: str
    examples: tuple[Example, ...]


Source = ParsedDataset | KnownDataset
FindDataset = Callable[[str, str], KnownDataset]
"""(dataset id, field) -> dataset of the owner. Raises UnknownDataset."""


@dataclass(frozen=True, slots=True)
class ValidSubmission:
    """A validated submission, ready to store."""

    spec: StoredSpec
    name: str | None
    dataset: Source
    test: Source | None
    is_inline: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)  #: `text_column` and `label_column`, if given
    warnings: tuple[str, ...] = ()  #: about the rows and their use, and what was taken by default


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A checked spec, which the labels of the dataset complete."""

    model: str
    task: TaskRequest
    preset: PresetName
    config: SelectionConfig
    name: str | None
    warnings: tuple[str, ...] = ()  #: limits of the service that the config has by default

    def submit(
        self, dataset: Source, test: Source | None, columns: Mapping[str, str], *, is_inline: bool
    ) -> ValidSubmission:
        """Complete the spec, and check that dataset and spec fit.

        Raises:
            RefusedInput: the labels cannot be their own words; or as `check_fit`.
        """
        with invalid_inputs(inline=is_inline, columns=columns):
            task = self.task.complete(dataset.examples, join_spellings=self.config.labels.join_spellings)
        stored = StoredSpec.of(self.model, task, self.preset, self.config)
        warnings = tuple(f"spec: {default}" for default in (*self.task.list_defaults(task), *self.warnings))
        return check_fit(ValidSubmission(stored, self.name, dataset, test, is_inline, columns, warnings))


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
        limits = parsing_limits(settings)
        faults = Faults()
        dataset: Source | None = None
        test: Source | None = None
        with invalid_inputs(inline=True):
            with faults.noting():
                if body.examples is not None:
                    dataset = parse_inline(body.examples, limits, field="examples", **body.columns)
                else:
                    dataset = find_dataset(body.dataset_id or "", "dataset_id")
            with faults.noting():
                if body.test_examples is not None:
                    test = parse_inline(body.test_examples, limits, field="test_examples", **body.columns)
                elif body.test_dataset_id is not None:
                    test = find_dataset(body.test_dataset_id, "test_dataset_id")
            faults.refuse()
        assert dataset is not None
        return spec.submit(dataset, test, body.columns, is_inline=body.examples is not None)


@dataclass(frozen=True)
class FormSubmission:
    """A multipart body: the spec as JSON, one or two spooled files, and the names of their columns."""

    raw_spec: bytes
    dataset: IO[bytes]
    test: IO[bytes] | None
    columns: Mapping[str, str] = field(default_factory=dict)  #: `text_column` and `label_column`, if given

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
        if self.columns:
            parts.append(json.dumps(self.columns, sort_keys=True))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def validate(self, settings: Settings, find_dataset: FindDataset) -> ValidSubmission:  # noqa: ARG002
        """Parse and check the spec and the files. Raises the same errors as `JsonSubmission.validate`."""
        body = read_model(SelectionSpec, self._spec, "spec")
        spec = check_spec(body, settings)
        faults = Faults()
        dataset: ParsedDataset | None = None
        test: ParsedDataset | None = None
        with invalid_inputs(inline=False):
            with faults.noting():
                dataset = _parse_file(self.dataset, settings, "dataset", self.columns)
            if self.test is not None:
                with faults.noting():
                    test = _parse_file(self.test, settings, "test", self.columns)
            faults.refuse()
        assert dataset is not None
        return spec.submit(dataset, test, self.columns, is_inline=False)


RawSubmission = JsonSubmission | FormSubmission


def check_spec(spec: SelectionSpec, settings: Settings) -> CheckedSpec:
    """Check model, template, label words and options.

    Raises:
        UnknownModelName: the service does not offer the model.
        RefusedInput: names all other errors at once.
    """
    model = spec.model if spec.model is not None else settings.default_model
    if model not in settings.allowed_models:
        detail = _describe_models(settings)
        raise UnknownModelName(detail, errors=[{"detail": detail, "pointer": "/spec/model"}])
    found: list[InvalidInput] = []
    template = None if (pattern := spec.template) is None else _collect(found, lambda: Template(pattern))
    verbalizer = None if (words := spec.verbalizer) is None else _collect(found, lambda: Verbalizer(words))
    config = _collect(found, lambda: resolve_config(spec.preset, spec.options))
    if config is not None:
        found += list_excesses(config.budget, settings)
    if found or config is None:
        raise as_problem(found, inline=False)
    bounded, warnings = bound_budget(config, settings)
    task = TaskRequest(template, verbalizer, spec.separator)
    return CheckedSpec(model, task, spec.preset, bounded, spec.name, warnings)


def check_fit(submission: ValidSubmission) -> ValidSubmission:
    """Check that the dataset has the labels and the number of rows that the spec needs, and add the warnings.

    Raises:
        RefusedInput: labels do not match the verbalizer, or there are too few rows.
    """
    test = None if submission.test is None else submission.test.examples
    problem = Problem(submission.spec.task, submission.dataset.examples, test)
    with invalid_inputs(inline=submission.is_inline, columns=submission.columns):
        split = split_examples(problem, submission.spec.config)
    return replace(submission, warnings=(*submission.warnings, *split.notes))


def parsing_limits(settings: Settings) -> ParsingLimits:
    """Limits of an upload according to the settings."""
    return ParsingLimits(
        max_bytes=settings.max_upload_bytes,
        max_rows=settings.max_rows,
        max_text_characters=settings.max_text_characters,
        max_label_characters=settings.max_label_characters,
        max_labels=settings.max_labels,
    )


def _describe_models(settings: Settings) -> str:
    offered = ", ".join(settings.allowed_models)
    return (
        f"this model is not offered; choose one of {offered}. The operator can offer other models with open weights "
        "(setting LENS_ALLOWED_MODELS). Hosted chat models cannot be used, because they do not give the probabilities "
        "of label words"
    )


def _collect(found: list[InvalidInput], build: Callable[[], _Built]) -> _Built | None:
    try:
        return build()
    except InvalidInput as error:
        found.append(error)
        return None


def _parse_file(file: IO[bytes], settings: Settings, name: str, columns: Mapping[str, str]) -> ParsedDataset:
    descriptor = file.fileno()  # moves a small upload from memory to disk
    file.flush()
    with open(descriptor, "rb", closefd=False) as reader:
        reader.seek(0)
        return parse_dataset(reader, parsing_limits(settings), field=name, **columns)


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _file_digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
