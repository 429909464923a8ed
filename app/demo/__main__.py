"""`python -m app.demo`, the same as `lens demo`."""

import sys

from rich.console import Console

from app.cli.refusals import Refusal, show_refusal
from app.demo.show import show_demo

if __name__ == "__main__":
    try:
        show_demo()
    except Refusal as refusal:
        show_refusal(refusal, Console(stderr=True))
        sys.exit(refusal.exit_code)
