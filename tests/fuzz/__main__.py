"""`python -m tests.fuzz`: send random requests, print the report; exit status 1 on a failure."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.fuzz.run import Plan, run_fuzz


def main() -> int:
    arguments = _parse()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    folder.chmod(0o711)  # Postgres runs as another account under root
    _say(f"SEED={arguments.seed}, logs in {folder}")
    report = run_fuzz(Plan(arguments.seed, arguments.requests, folder), _say)
    sys.stdout.write(f"{report.to_text()}\n")
    if report.has_passed:
        shutil.rmtree(folder)
    else:
        _say(f"logs and failed requests: {folder}")
    return 0 if report.has_passed else 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="number of requests, at least")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="seed of all requests")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
