"""`python -m tests.chaos`: run the service under faults, print the report; exit status 1 on a violation."""

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import Plan, run_chaos


def main() -> int:
    arguments = _parse()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    folder.chmod(0o711)  # Postgres runs as another account under root
    seconds = arguments.minutes * 60
    models = arguments.models if arguments.models is not None else round(arguments.minutes / 3)
    plan = Plan(arguments.seed, seconds, folder, models, calm_seconds=arguments.calm)
    _say(f"SEED={plan.seed}, logs in {folder}")
    report = run_chaos(plan, _say)
    sys.stdout.write(f"{report.to_text()}\n")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report.to_json(), indent=2, default=str) + "\n")
    if report.has_passed and not arguments.keep:
        shutil.rmtree(folder)
    else:
        _say(f"logs: {folder}")
    return 0 if report.has_passed else 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="duration of the faults (minutes)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="seed of faults and clients")
    parser.add_argument("--models", type=int, help="selections with the bundled model; default: a third of the minutes")
    parser.add_argument("--calm", type=float, default=180.0, help="longest wait for all ends, at the end (seconds)")
    parser.add_argument("--json", type=Path, help="file for the report as JSON")
    parser.add_argument("--keep", action="store_true", help="keep logs and data of a run without violations")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
