"""The two bodies of POST /selections in the OpenAPI document."""

from typing import Any

from app.intake.form import MAX_COLUMN_CHARACTERS
from app.selections.openapi import EXAMPLE_SPEC, EXAMPLE_SUBMISSION
from app.selections.submission_schemas import (
    LABEL_COLUMN,
    TEXT_COLUMN,
    SelectionSpec,
    SubmissionBody,
)
from app.web.openapi import REFERENCE, named

LABELLED_FILE = {
    "type": "string",
    "format": "binary",
    "description": "CSV or JSONL file with a column of texts and one of labels. Delimiter and encoding are found.",
}

READING_PARTS = {
    name: {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS, "description": description}
    for name, description in (
        ("text_column", TEXT_COLUMN),
        ("label_column", LABEL_COLUMN),
        ("delimiter", "Delimiter of the CSV files: `,` or `;` or `|` or `tab`; by default it is found."),
        ("encoding", "Encoding of the files, such as `windows-1251`; by default it is found."),
    )
}

FORM: dict[str, Any] = {
    "type": "object",
    "title": "SubmissionForm",
    "description": "The form of POST /selections: a dataset and optionally test rows as files, and the spec as JSON.",
    "required": ["dataset"],
    "properties": {"dataset": LABELLED_FILE, "test": LABELLED_FILE, "spec": named(SelectionSpec), **READING_PARTS},
}

SUBMISSION_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": named(SubmissionBody), "example": EXAMPLE_SUBMISSION},
            "multipart/form-data": {
                "schema": {"$ref": REFERENCE.format(model="SubmissionForm")},
                "encoding": {"spec": {"contentType": "application/json"}},
                "example": {"dataset": "reviews.csv", "spec": EXAMPLE_SPEC},
            },
        },
    }
}

MODELS = (SelectionSpec, SubmissionBody)
SCHEMAS: dict[str, Any] = {"SubmissionForm": FORM}
"""Schemas that no route declares."""
