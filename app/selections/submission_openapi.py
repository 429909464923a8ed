"""The two bodies of POST /selections in the OpenAPI document."""

from typing import Any

from app.intake.parts import LABELLED_FILE, READING_PARTS
from app.selections.openapi import EXAMPLE_SPEC, EXAMPLE_SUBMISSION
from app.selections.submission_schemas import SelectionSpec, SubmissionBody
from app.web.openapi import REFERENCE, named

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
