"""`python -m lens_cli.demo`, the same as `lens demo`."""

import sys

from rich.console import Console

from lens_cli.demo.show import show_demo
from lens_cli.refusals import Refusal, show_refusal

if __name__ == "__main__":
    try:
        show_demo()
    except Refusal as refusal:
        show_refusal(refusal, Console(stderr=True))
        sys.exit(refusal.exit_code)
