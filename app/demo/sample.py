"""The sample dataset and what is asked of it."""

from pathlib import Path
from typing import Any

from app.cli.refusals import Refusal

SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "examples" / "support_desk"
SAMPLE_SPEC: dict[str, Any] = {
    "template": "{text} Topic: {label}.",
    "verbalizer": {"billing": "Billing", "delivery": "Delivery", "account": "Account", "technical": "Technical"},
    "preset": "quick",
}
"""What a client would send; at full length it takes some 8 minutes on two processor cores."""

DEMO_OPTIONS: dict[str, Any] = {
    "filtering": {"candidates": 160, "keep": 40},
    "splits": {"validation": 60, "confirmation": 40},
    "search": {"iterations": 3},
    "report": {"comparison_rows": 60, "order_shuffles": 4},
    "budget": {"max_seconds": 180},
}
"""Fewer rows and rounds, for about half of that. On a slower machine the budget ends it, with the best so far."""
NEW_INPUT = "My thermostat says it is 84 degrees in the living room, it is clearly not. Already restarted it twice"


def check_sample() -> None:
    """
    Raises:
        Refusal: this is an installed package without the repository around it.
    """
    if not (SAMPLE_FOLDER / "train.csv").exists():
        raise Refusal(f"the sample dataset is not at {SAMPLE_FOLDER}; run the demo in a checkout of the repository")
