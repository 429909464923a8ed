"""The bodies of predictions in the OpenAPI document."""

from typing import Any

from app.intake.parts import READING_PARTS
from app.predictions.schemas import PredictionBody, PredictionRequest
from app.web.openapi import REFERENCE, named, sends
from lens_engine.evaluation.table import MEDIA_TYPES

_FILE = {
    "type": "string",
    "format": "binary",
    "description": "CSV or JSONL file with a column of texts. Delimiter and encoding are found.",
}
SCHEMAS: dict[str, Any] = {
    "PredictionForm": {
        "type": "object",
        "title": "PredictionForm",
        "description": "The form of a prediction: texts as a file, and the spec as JSON.",
        "required": ["texts"],
        "properties": {
            "texts": _FILE,
            "spec": named(PredictionRequest),
            **{name: one for name, one in READING_PARTS.items() if name != "label_column"},
        },
    }
}
MODELS = (PredictionRequest, PredictionBody)

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": named(PredictionBody)},
            "multipart/form-data": {
                "schema": {"$ref": REFERENCE.format(model="PredictionForm")},
                "encoding": {"spec": {"contentType": "application/json"}},
                "example": {"texts": "october.csv"},
            },
        },
    }
}
OUTPUT: dict[str, Any] = {
    "description": "The file.",
    "content": {one.partition(";")[0]: {"schema": {"type": "string"}} for one in MEDIA_TYPES.values()},
    **sends("ETag", "Content-Disposition"),
}
