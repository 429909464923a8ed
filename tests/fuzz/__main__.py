"""`python -m tests.fuzz`: send random requests, print what was found; exit status 1 on a fault."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.fuzz.run import run_fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=500, help="random requests for each operation")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="seed of all requests")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    folder.chmod(0o711)  # Postgres runs as another account under root
    report = run_fuzz(folder, arguments.examples, arguments.seed)
    answers = [f"{number:6}  {answer}" for answer, number in sorted(report.answers.items())]
    lines = [report.output, *answers, *(report.faults or ["no faults"]), f"SEED={arguments.seed}, logs in {folder}"]
    sys.stdout.write("\n".join(lines) + "\n")
    if not report.faults:
        shutil.rmtree(folder)
    return int(bool(report.faults))


if __name__ == "__main__":
    raise SystemExit(main())
