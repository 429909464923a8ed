"""The sample dataset and what is asked of it."""

from pathlib import Path
from typing import Any

from lens_cli.refusals import Refusal

SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "examples" / "support_desk"
SAMPLE_SPEC: dict[str, Any] = {
    "template": "{text} Topic: {label}.",
    "verbalizer": {"billing": "Billing", "delivery": "Delivery", "account": "Account", "technical": "Technical"},
    "preset": "quick",
}
"""What a client would send.

Each label word is the label's own name with a capital. It was not chosen by accuracy, and no row was read for it.
"""

DEMO_SPEC: dict[str, Any] = {
    **SAMPLE_SPEC,
    "options": {
        "splits": {"validation": 48, "confirmation": 32, "test": 120},
        "filtering": {"candidates": 96, "keep": 24, "initial_score_size": 8},
        "search": {"first_permutations": 48},
        "report": {"random_and_validation": False, "comparison_rows": 24, "order_shuffles": 4},
    },
}
"""Some 145,000 tokens instead of the preset's 690,000: four minutes on two cores that score 780 tokens a second.

Filtering, search and confirmation take 125,000 of them. Random-and-validation would add some 55,000 at this size.
"""

NEW_INPUT = "My thermostat says it is 84 degrees in the living room, it is clearly not. Already restarted it twice"


def check_sample() -> None:
    """
    Raises:
        Refusal: this is an installed package without the repository around it.
    """
    if not (SAMPLE_FOLDER / "train.csv").exists():
        raise Refusal(f"the sample dataset is not at {SAMPLE_FOLDER}; run the demo in a checkout of the repository")
