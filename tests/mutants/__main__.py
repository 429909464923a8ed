"""`python -m tests.mutants [WORD ...]`: switch mechanisms off, one at a time, and print which test notices.

Words choose mechanisms by a part of their name. The sources are changed in a copy of the repository. First, all named
tests run on the unchanged copy and must pass. The exit status is 1 if a mechanism survives its removal.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mechanisms import MUTATIONS
from tests.mutants.mutation import Mutation
from tests.mutants.trial import Outcome, Trial, run_tests

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> int:
    """Run the mutations that a word chooses, or all of them. Returns the exit status."""
    chosen = [m for m in MUTATIONS if not words or any(word in m.mechanism for word in words)]
    if not chosen:
        _say(f"no mechanism matches; there are: {', '.join(m.mechanism for m in MUTATIONS)}")
        return 2
    with tempfile.TemporaryDirectory(prefix="lens-mutants-") as folder:
        copy = Path(folder) / "lens"
        copy_repository(ROOT, copy)
        tests = sorted({test for mutation in chosen for test in mutation.tests})
        _say(f"{len(chosen)} mechanisms, {len(tests)} tests; first the tests on the unchanged source")
        unchanged = run_tests(copy, tests)
        if unchanged.outcome is not Outcome.PASSED:
            _say(f"{unchanged.output}\nthe tests do not pass on the unchanged source, so nothing can be said")
            return 2
        trials = [_try(mutation, copy) for mutation in chosen]
    survivors = [mutation.mechanism for mutation, trial in zip(chosen, trials, strict=True) if not trial.is_noticed]
    _say(f"\n{len(chosen) - len(survivors)} of {len(chosen)} removals were noticed")
    if survivors:
        _say(f"not noticed: {', '.join(survivors)}")
    return 1 if survivors else 0


def copy_repository(root: Path, target: Path) -> None:
    """Copy the files that git tracks or would track, so that neither caches nor environments travel."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def _try(mutation: Mutation, copy: Path) -> Trial:
    mutation.apply(copy)
    try:
        trial = run_tests(copy, list(mutation.tests))
    finally:
        mutation.revert(copy, ROOT)
    first = trial.failed[0] if trial.failed else ""
    _say(f"{mutation.mechanism:<40} {trial.outcome:<9} {trial.seconds:5.0f} s  {first}")
    return trial


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
