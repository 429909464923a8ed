"""The sample dataset and what is asked of it."""

import json
import shlex
from pathlib import Path
from typing import Any

SAMPLE = "shop_reviews"
SAMPLE_FOLDER = Path(__file__).resolve().parents[1] / "examples" / SAMPLE
SAMPLE_SPEC: dict[str, Any] = {"preset": "quick"}
"""What a client would send: the template has the name of the column of labels, and each label is its own word."""

DEMO_SPEC: dict[str, Any] = {
    **SAMPLE_SPEC,
    "options": {"rows": {"search": 0}, "search": {"sets": 16, "forms": ["fixed"]}},
}
"""Fewer sets than `quick` has, no search and no rows like the input: at most some 60,000 tokens."""

NEW_INPUTS = (
    "Third kettle in a year. I should have learned.",
    "My mother unpacked it and has not put it down since.",
    "The colour is lovely, the lid does not close.",
)


def submission_line(url: str) -> str:
    """The curl command that submits the sample dataset, for a shell in a checkout."""
    form = shlex.quote(f"spec={json.dumps(SAMPLE_SPEC, ensure_ascii=False)}")
    return (
        f"curl -sS {url}/selections -F dataset=@examples/{SAMPLE}/train.csv "
        f"-F test=@examples/{SAMPLE}/test.csv -F {form}"
    )
