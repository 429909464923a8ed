"""Examples and bodies of the routes of selections in the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from app.selections.rendering import RenderBody
from app.web.openapi import named, sends
from lens_engine.exports import FORMATS
from lens_engine.exports.folder import ZIP_TYPE

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
    "fit_rows": 24,
    "model": {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "revision": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
        "dtype": "float32",
        "device": "cpu",
    },
    "tokens_per_input": 22.5,
    "tokens_held": 46,
    "test": {
        "accuracy": 0.875,
        "n": 8,
        "ci95": [0.529, 0.978],
        "macro_f1": 0.873,
        "log_loss": 0.412,
        "ece": 0.093,
        "shares_answered": [
            {"threshold": 0.5134, "share": 1.0, "accuracy": 0.875},
            {"threshold": 0.8051, "share": 0.75, "accuracy": 1.0},
        ],
    },
    "holds_words": False,
}
CLASSIFIER: dict[str, Any] = {"content": {"application/json": {"example": EXAMPLE_CLASSIFIER}}}
"""Part of the OpenAPI response that is a classifier."""

RENDER_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": named(RenderBody)}}}
}


def reported(answers: Mapping[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a route that answers with a report."""
    content = {one: {"schema": {"type": "string"}} for one in ("text/html", "text/markdown")}
    return {**answers, 200: {"description": "The report.", "content": content, **sends("ETag")}}


_OF_EXPORTS = ("X-Format-Matches-Evaluation", "X-Format-Accuracy", "X-Prompt-Form", "X-Prompt-Accuracy")


def exported(answers: Mapping[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a route that answers with an export."""
    media_types = sorted({ZIP_TYPE, *(one.media_type.partition(";")[0] for one in FORMATS.values())})
    content = {one: {"schema": {"type": "string"} if one.startswith("text/") else {}} for one in media_types}
    found = {"description": "The file.", "content": content}
    return {
        **answers,
        200: {**found, **sends("ETag", "Content-Disposition", *_OF_EXPORTS)},
    }
