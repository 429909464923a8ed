"""An example of a submission, for the OpenAPI document."""

from typing import Any

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
