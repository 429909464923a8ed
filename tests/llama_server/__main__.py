"""`python -m tests.llama_server`: build llama-server and write the bundled model as it reads it, each once.

The exit status is 1 where this machine cannot build it; with `--if-possible` only the reason is printed then.
"""

import argparse
import sys
import time

from tests.llama_server.program import CannotBuild, build_program, find_program
from tests.llama_server.weights import float32_weights


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.llama_server", description=__doc__)
    parser.add_argument("--if-possible", action="store_true", help="no error where the machine lacks what this needs")
    arguments = parser.parse_args()
    if find_program() is None:
        _say("Building llama-server, once; it takes five to ten minutes on two cores.")
    start = time.monotonic()
    try:
        program = build_program()
    except CannotBuild as error:
        _say(f"llama-server was NOT built, so the tests that ask it are skipped: {error}")
        return 0 if arguments.if_possible else 1
    _say(f"{program}\n{float32_weights()}\ntook {time.monotonic() - start:.0f} s")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
