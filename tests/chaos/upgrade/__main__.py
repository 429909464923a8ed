"""`python -m tests.chaos.upgrade --from REVISION`: print what the upgrade came to; exit status 1 on a violation."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.upgrade.run import UpgradePlan, run_upgrade


def main() -> int:
    arguments = _parse()
    folder = Path(tempfile.mkdtemp(prefix="upgrade-"))
    folder.chmod(0o711)  # Postgres runs as another account under root
    _say(f"logs in {folder}")
    report = run_upgrade(UpgradePlan(arguments.revision, folder, arguments.seconds), _say)
    sys.stdout.write(f"{report.to_text()}\n")
    if report.has_passed and not arguments.keep:
        shutil.rmtree(folder)
    return 0 if report.has_passed else 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.upgrade", description=__doc__)
    parser.add_argument("--from", dest="revision", required=True, help="git revision of the old release")
    parser.add_argument("--seconds", type=float, default=15.0, help="load before the upgrade, and after it (seconds)")
    parser.add_argument("--keep", action="store_true", help="keep logs and data of a run without violations")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
