"""The parts of a submission that say how its rows are read, as fields of JSON and as parts of a form."""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from app.intake.form import MAX_COLUMN_CHARACTERS
from app.web.validation import Incoming
from lens_engine.reading.table import ColumnNames

_TEXT_COLUMN = (
    "Name of the column of texts in the dataset and the test rows, or several, whose texts are joined; by default it "
    "is told by its name or its values. `column 2` is the second column."
)
_LABEL_COLUMN = (
    "Name of the column of labels in the dataset and the test rows; by default it is told by its name or its values."
)

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_COLUMN_CHARACTERS)]
TextColumns = Annotated[list[ColumnName], Field(min_length=1, max_length=20)]


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
    "description": "File with a column of texts and one of labels: CSV, JSON, a workbook (xlsx, ods), or an export of "
    "a tool for annotation. Its shape, delimiter and encoding are found.",
}
READING_PARTS: dict[str, Any] = {
    "text_column": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS},
        "maxItems": 20,
        "description": _TEXT_COLUMN,
    },
} | {
    name: {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS, "description": description}
    for name, description in (
        ("label_column", _LABEL_COLUMN),
        ("delimiter", "Delimiter of the CSV files: `,` or `;` or `|` or `tab`; by default it is found."),
        ("encoding", "Encoding of the files, such as `windows-1251`; by default it is found."),
    )
}
"""Schemas of the parts of a form."""
