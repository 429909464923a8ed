"""The parts of a submission that say how its rows are read, as fields of JSON and as parts of a form; its OpenAPI."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, StringConstraints, model_validator

from app.web.openapi import REFERENCE, named
from app.web.validation import Incoming
from lens_engine.files.table import ColumnNames

MAX_COLUMN_CHARACTERS, MAX_TEXT_COLUMNS = 200, 20
COLUMNS, DIALECT_PARTS = ("text_column", "label_column"), ("delimiter", "encoding")
COLUMN_PARTS = (*COLUMNS, *DIALECT_PARTS)  #: parts of a form that say how the files are read

_TEXT_COLUMN = (
    "Name of the column of texts in the dataset and the test rows, or several, whose texts are joined; by default it "
    "is found by its name or its values. `column 2` is the second column."
)
_LABEL_COLUMN = (
    "Name of the column of labels in the dataset and the test rows; by default it is found by its name or its values."
)

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_COLUMN_CHARACTERS)]
TextColumns = Annotated[list[ColumnName], Field(min_length=1, max_length=MAX_TEXT_COLUMNS)]


class RowsBody(Incoming):
    """Base of JSON bodies with labelled rows."""

    text_column: ColumnName | TextColumns | None = Field(
        default=None, description=f"{_TEXT_COLUMN} Not with `dataset_id`."
    )
    label_column: ColumnName | None = Field(default=None, description=f"{_LABEL_COLUMN} Not with `dataset_id`.")

    @model_validator(mode="after")
    def has_no_columns_of_stored_rows(self) -> Self:
        if getattr(self, "dataset_id", None) is not None and self.columns:
            raise ValueError(
                f"{' and '.join(f'`{name}`' for name in self.columns)} cannot be used with `dataset_id`, whose rows "
                "are stored already; leave the column names out"
            )
        return self

    @property
    def columns(self) -> dict[str, ColumnNames]:
        """The column names that were given."""
        texts = tuple(self.text_column) if isinstance(self.text_column, list) else self.text_column
        given = {"text_column": texts, "label_column": self.label_column}
        return {name: column for name, column in given.items() if column is not None}


LABELLED_FILE: dict[str, Any] = {
    "type": "string",
    "format": "binary",
    "description": "File with a column of texts and one of labels: CSV, JSON, a workbook (xlsx), or an export of "
    "a tool for annotation. Its shape, delimiter and encoding are found.",
}
READING_PARTS: dict[str, Any] = {
    "text_column": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS},
        "maxItems": MAX_TEXT_COLUMNS,
        "description": _TEXT_COLUMN,
    }
} | {
    name: {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS, "description": description}
    for name, description in (
        ("label_column", _LABEL_COLUMN),
        ("delimiter", "Delimiter of the CSV files: `,` or `;` or `|` or `tab`; by default it is found."),
        ("encoding", "Encoding of the files, such as `windows-1251`; by default it is found."),
    )
}
"""Schemas of the parts of a form."""


def describe_form(
    name: str, about: str, files: dict[str, Any], spec: type[BaseModel] | None = None, required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The schema of a form by its name: its files, the spec, and how the files are read.

    `files`: schemas of the files. Texts alone have no column of labels.
    """
    reading = {part: one for part, one in READING_PARTS.items() if "texts" not in files or part != "label_column"}
    schema = {
        "type": "object",
        "title": name,
        "description": about,
        **({"required": list(required)} if required else {}),
        "properties": {**files, **({} if spec is None else {"spec": named(spec)}), **reading},
    }
    return {name: schema}


def describe_upload(
    form: str, example: dict[str, Any], body: type[BaseModel] | None = None, json_example: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The part of an OpenAPI operation that says that its body is the form so named, or JSON of this model."""
    has_spec = body is None or "spec" in body.model_fields
    content: dict[str, Any] = {
        "multipart/form-data": {
            "schema": {"$ref": REFERENCE.format(model=form)},
            **({"encoding": {"spec": {"contentType": "application/json"}}} if has_spec else {}),
            "example": example,
        }
    }
    if body is not None:
        content["application/json"] = {"schema": named(body), "example": json_example}
    return {"requestBody": {"required": True, "content": content}}
