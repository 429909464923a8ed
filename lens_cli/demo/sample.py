"""The sample dataset and what is asked of it."""

from pathlib import Path
from typing import Any

from lens_cli.refusals import Refusal

SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "examples" / "support_desk"
SAMPLE_SPEC: dict[str, Any] = {
    "template": "{text} Topic: {label}.",
    "verbalizer": {"billing": "Payment", "delivery": "Delivery", "account": "Login", "technical": "Device"},
    "preset": "quick",
}
"""What a client would send."""

DEMO_SPEC: dict[str, Any] = {
    **SAMPLE_SPEC,
    "options": {
        "splits": {"validation": 48, "confirmation": 32},
        "filtering": {"candidates": 128, "keep": 32, "initial_score_size": 12},
        "report": {"comparison_rows": 48, "order_shuffles": 4},
    },
}
"""Fewer rows than the preset's: some 9,000 pairs instead of 23,000, for an audience that waits."""

NEW_INPUT = "My thermostat says it is 84 degrees in the living room, it is clearly not. Already restarted it twice"


def check_sample() -> None:
    """
    Raises:
        Refusal: this is an installed package without the repository around it.
    """
    if not (SAMPLE_FOLDER / "train.csv").exists():
        raise Refusal(f"the sample dataset is not at {SAMPLE_FOLDER}; run the demo in a checkout of the repository")
