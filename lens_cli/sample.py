"""The sample dataset and what is asked of it."""

import json
import shlex
from pathlib import Path
from typing import Any

from lens_cli.refusals import RefusedInput

SAMPLE_FOLDER = Path(__file__).resolve().parents[1] / "examples" / "support_desk"
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
        "rows": {"search": 0, "judging": 80, "test": 120},
        "search": {"sets": 16, "forms": ["fixed"]},
        "classifier": {"fit_rows": 220},
    },
}
"""At most some 85,000 tokens. LENS does not search: with so few tokens it finds little."""

NEW_INPUTS = (
    "My thermostat says it is 84 degrees in the living room, it is clearly not. Already restarted it twice",
    "I was charged twice for the same order and would like one payment back",
    "The tracking page has said out for delivery since Monday",
)
NEW_INPUT = NEW_INPUTS[0]


def submission_line(url: str) -> str:
    """The curl command that submits the sample dataset, for a shell in a checkout."""
    form = shlex.quote(f"spec={json.dumps(SAMPLE_SPEC, ensure_ascii=False)}")
    return (
        f"curl -sS {url}/selections -F dataset=@examples/support_desk/train.csv "
        f"-F test=@examples/support_desk/test.csv -F {form}"
    )


def check_sample() -> None:
    """
    Raises:
        Refusal: this is an installed package without the repository around it.
    """
    if not (SAMPLE_FOLDER / "train.csv").exists():
        message = f"the sample dataset is not at {SAMPLE_FOLDER}; run the demo in a checkout of the repository"
        raise RefusedInput(message)
