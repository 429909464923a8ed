"""The bodies of evaluations in the OpenAPI document."""

from typing import Any

from app.evaluations.schemas import EvaluationBody, EvaluationRequest
from app.intake.parts import LABELLED_FILE, READING_PARTS
from app.web.openapi import REFERENCE, named

SCHEMAS: dict[str, Any] = {
    "EvaluationForm": {
        "type": "object",
        "title": "EvaluationForm",
        "description": "The form of an evaluation: rows as a file, and the spec as JSON.",
        "properties": {"dataset": LABELLED_FILE, "spec": named(EvaluationRequest), **READING_PARTS},
    }
}
MODELS = (EvaluationRequest, EvaluationBody)

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": named(EvaluationBody), "example": {"spec": {"orders": 2}}},
            "multipart/form-data": {
                "schema": {"$ref": REFERENCE.format(model="EvaluationForm")},
                "encoding": {"spec": {"contentType": "application/json"}},
                "example": {"dataset": "october.csv", "spec": {"prompts": "support_examples"}},
            },
        },
    }
}
