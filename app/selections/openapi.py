"""Parts of the OpenAPI document that types cannot express: the two bodies of POST, examples, and the refusals."""

from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from app.selections.schemas import (
    LABEL_COLUMN,
    MAX_COLUMN_CHARACTERS,
    TEXT_COLUMN,
    RenderBody,
    SelectionSpec,
    SubmissionBody,
)

EXAMPLE_SPEC: dict[str, Any] = {
    "template": "{text} It was {label}.",
    "verbalizer": {"positive": "great", "negative": "terrible"},
    "preset": "quick",
    "options": {
        "num_demonstrations": 2,
        "splits": {"validation": 4, "confirmation": 0, "test": 8},
        "filtering": {"candidates": None, "keep": 4, "rounds": 1, "initial_score_size": 2, "max_score_size": 4},
    },
}
_PRAISE = ["A warm and funny film", "I would watch it again", "The cast is a delight", "Sharp, tender, alive"]
_BLAME = ["A dull two hours", "I left before the end", "The jokes fall flat", "Loud, long and empty"]
_SCENES = ["from the first scene", "on a rainy evening", "with my family", "in a full house", "at the festival"]

EXAMPLE_SUBMISSION: dict[str, Any] = {
    "spec": EXAMPLE_SPEC,
    "examples": [
        {"text": f"{sentence} {scene}.", "label": label}
        for label, sentences in (("positive", _PRAISE), ("negative", _BLAME))
        for scene in _SCENES
        for sentence in sentences
    ],
}


def _example_prompt(*rows: int) -> dict[str, Any]:
    examples, words = EXAMPLE_SUBMISSION["examples"], EXAMPLE_SPEC["verbalizer"]
    shown = [f"{examples[row]['text']} It was {words[examples[row]['label']]}.\n" for row in rows]
    return {"rows": list(rows), "demonstrations": shown}


EXAMPLE_CLASSIFIER: dict[str, Any] = {
    "schema_version": 1,
    "task": {
        "template": EXAMPLE_SPEC["template"],
        "label_words": [{"label": label, "word": word} for label, word in EXAMPLE_SPEC["verbalizer"].items()],
        "separator": "\n",
    },
    "prompts": [_example_prompt(26, 5), _example_prompt(0, 32)],
    "head": {"kind": "prior", "biases": [[-0.734, 1.218], [0.352, -0.467]], "temperature": 0.82},
    "model": {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "revision": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
        "dtype": "float32",
        "device": "cpu",
    },
    "tokens_per_input": 74.5,
    "test": {
        "accuracy": 0.875,
        "n": 8,
        "ci95": [0.529, 0.978],
        "macro_f1": 0.873,
        "log_loss": 0.412,
        "ece": 0.093,
    },
}
CLASSIFIER: dict[str, Any] = {"content": {"application/json": {"example": EXAMPLE_CLASSIFIER}}}
"""Part of the OpenAPI response that is a classifier."""


_HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {"description": "Version of the answer, for `If-None-Match`.", "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "Present if an earlier request with this Idempotency-Key got the same answer.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Location": {"description": "Path of the selection.", "schema": {"type": "string", "format": "uri-reference"}},
    "Retry-After": {
        "description": "Time after which to send the next request (seconds).",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "Always `Bearer`.", "schema": {"type": "string"}},
}
_REFERENCE = "#/components/schemas/{model}"
_HEADERS_OF_REFUSALS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


def sends(*names: str) -> dict[str, Any]:
    """The part of an OpenAPI response that names its headers."""
    return {"headers": {name: _HEADERS[name] for name in names}}


def not_modified(*headers: str) -> dict[int | str, dict[str, Any]]:
    """Build the OpenAPI entry of a route that answers with an ETag. `headers` are others that the answer 304 has."""
    return {304: {"description": "The answer with this `ETag` is still current.", **sends("ETag", *headers)}}


class ErrorItemOut(BaseModel):
    """One error and its place in the request."""

    detail: str = Field(description="What is wrong, and how to mend it.")
    pointer: str = Field(description="JSON pointer into the body, or `/dataset/rows/7/label` in a file.")


class Problem(BaseModel):
    """An error response (RFC 9457)."""

    type: str = Field(description="URI that ends in the code.")
    code: str = Field(description="Stable code of the error.")
    title: str = Field(description="What the code means.")
    status: int = Field(description="HTTP status.")
    detail: str = Field(description="What is wrong with this request.")
    instance: str = Field(description="Path of the request.")
    request_id: str = Field(description="Value of `X-Request-ID`; quote it when you report an error.")
    errors: list[ErrorItemOut] = Field(description="Every error found, each with its place; may be empty.")


def refusals(
    *statuses: int, conflict: str | None = None, is_conflict_brief: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Build the OpenAPI entries for the error responses of a route. `conflict` says what 409 means there.

    A brief conflict ends by itself, and `Retry-After` says when to send the request again.

    The entry `default` also keeps FastAPI from declaring its own 422, which the error handlers replace.
    """
    content = {"application/problem+json": {"schema": _named(Problem)}}
    # A route that needs a key may also be asked too often.
    expected = {*statuses, 429} if 401 in statuses else statuses
    descriptions = {status: _DESCRIPTIONS[status] for status in expected}
    if conflict is not None:
        descriptions[409] = conflict
    entries: dict[int | str, str] = {**dict(sorted(descriptions.items())), "default": "Any other error."}
    named = {**_HEADERS_OF_REFUSALS, **({409: ("Retry-After",)} if is_conflict_brief else {})}
    return {
        status: {"description": text, "content": content, **(sends(*named[status]) if status in named else {})}
        for status, text in entries.items()
    }


def _named(model: type[BaseModel]) -> dict[str, str]:
    """Refer to a schema of `add_schemas`."""
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def add_schemas(document: dict[str, Any]) -> None:
    """Add the schemas that FastAPI cannot see, because no route declares their types.

    Each has one name, so a generated client has one class for it.
    """
    models: tuple[type[BaseModel], ...] = (Problem, SelectionSpec, SubmissionBody, RenderBody)
    _, made = models_json_schema([(model, "validation") for model in models], ref_template=_REFERENCE)
    document["components"]["schemas"] |= {**made["$defs"], "SubmissionForm": _FORM}


_DESCRIPTIONS = {
    400: "The request is malformed.",
    401: "The API key is missing or unknown.",
    404: "You have no selection with this id.",
    413: "The request body is too large.",
    415: "The media type of the request body is not supported.",
    422: "The request is well-formed but invalid; `errors` names each place.",
    429: "You send too many requests, or have too many selections queued or running; repeat the request after "
    "`Retry-After`.",
    503: "The service is temporarily unavailable; repeat the request after `Retry-After`.",
}

_FILE = {"type": "string", "format": "binary", "description": "CSV or JSONL file with `text` and `label`."}

_COLUMNS = {
    name: {"type": "string", "minLength": 1, "maxLength": MAX_COLUMN_CHARACTERS, "description": description}
    for name, description in (("text_column", TEXT_COLUMN), ("label_column", LABEL_COLUMN))
}

_FORM: dict[str, Any] = {
    "type": "object",
    "title": "SubmissionForm",
    "description": "The form of POST /selections: a dataset and optionally test rows as files, and the spec as JSON.",
    "required": ["dataset", "spec"],
    "properties": {"dataset": _FILE, "test": _FILE, "spec": _named(SelectionSpec), **_COLUMNS},
}

SUBMISSION_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _named(SubmissionBody), "example": EXAMPLE_SUBMISSION},
            "multipart/form-data": {
                "schema": {"$ref": _REFERENCE.format(model="SubmissionForm")},
                "encoding": {"spec": {"contentType": "application/json"}},
                "example": {"dataset": "reviews.csv", "spec": EXAMPLE_SPEC},
            },
        },
    }
}

RENDER_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _named(RenderBody)}}}
}
