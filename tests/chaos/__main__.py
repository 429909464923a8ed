"""`python -m tests.chaos`: run the service under faults, print the report; exit status 1 on a violation."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.config import Plan
from tests.chaos.run import run_chaos


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="duration of the faults (minutes)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="seed of faults and clients")
    parser.add_argument("--no-model", action="store_true", help="no job with the bundled model")
    parser.add_argument("--calm", type=float, default=180.0, help="longest wait for all ends (seconds)")
    parser.add_argument("--keep", action="store_true", help="keep logs and data of a run without violations")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    folder.chmod(0o711)  # Postgres runs as another account under root
    plan = Plan(
        arguments.seed, arguments.minutes * 60, folder, with_model=not arguments.no_model, calm_seconds=arguments.calm
    )
    _say(f"SEED={plan.seed}, logs in {folder}")
    report = run_chaos(plan, _say)
    _say(str(report))
    if report.has_passed and not arguments.keep:
        shutil.rmtree(folder)
    else:
        _say(f"logs: {folder}")
    return 0 if report.has_passed else 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
