"""`python -m tests.mutants [--list] [WORD ...]`: switch mechanisms off, one at a time, and print which test notices.

Words choose mechanisms of `mechanisms.txt` by a part of their name. The sources are changed in a copy. The exit status
is 1 if a mechanism survives its removal, or if a place in the source or a test is not found; `--list` only looks there.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SOURCES = ("app", "worker", "lens_engine", "lens_cli")
_TIME_LIMIT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file without a mechanism, and the tests that must fail then. Paths are relative to the repository."""

    mechanism: str
    path: Path
    source: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.mechanism:<45} {self.path}  {' '.join(self.tests)}"


def main(arguments: list[str]) -> int:
    words = [argument for argument in arguments if not argument.startswith("-")]
    blocks = (ROOT / "tests/mutants/mechanisms.txt").read_text().strip().split("\n\n")[1:]
    read = [_read(block) for block in blocks if not words or any(word in block.partition(" |")[0] for word in words)]
    mutants = [one for one in read if isinstance(one, Mutant)]
    if len(mutants) < len(read) or "--list" in arguments or not read:
        _say("\n".join(map(str, read)) or "no mechanism has such a name")
        return int(len(mutants) < len(read) or not read)
    with tempfile.TemporaryDirectory(prefix="lens-mutants-") as folder:
        copy = Path(folder)
        _copy_repository(copy)
        _say(f"{len(mutants)} mechanisms; first their tests on the unchanged source")
        if (trial := _run_tests(copy, sorted({test for mutant in mutants for test in mutant.tests}))) != "survived":
            _say(f"{trial}: nothing can be said")
            return 1
        survived = sum(_try(copy, mutant) != "noticed" for mutant in mutants)
    _say(f"{len(mutants) - survived} of {len(mutants)} removals were noticed")
    return int(survived > 0)


def _read(block: str) -> Mutant | str:
    """The mutant, or why there is none: its place in the source, or a test, is not there exactly once."""
    header, *lines = block.splitlines()
    mechanism, file, named = header.split(" | ")
    found = [
        (path.relative_to(ROOT), source)
        for folder in _SOURCES
        for path in (ROOT / folder).rglob(file)
        for source in _mutate(path.read_text(), lines)
    ]
    tests = [path for test in named.split() for path in _find_tests(test)]
    if len(found) != 1:
        return f"STALE {mechanism}: its lines occur {len(found)} times in files {file}, not once"
    if len(tests) != len(named.split()):
        return f"STALE {mechanism}: {named} is in {len(tests)} files"
    ast.parse(found[0][1])
    return Mutant(mechanism, *found[0], tuple(tests))


def _mutate(source: str, lines: list[str]) -> list[str]:
    """The source with the change made, once for each place that has the lines."""
    before = [line[1:] for line in lines if line[0] != "+"]
    old, mutated = source.splitlines(), []
    for place in range(len(old)):
        there = old[place : place + len(before)]
        if [line.strip() for line in there] == before:
            indent, rest = there[0].removesuffix(there[0].lstrip()), iter(there)
            new = [(line[0], indent + line[1:] if line[0] == "+" else next(rest)) for line in lines]
            kept = [text for sign, text in new if sign != "-"]
            mutated.append("\n".join([*old[:place], *kept, *old[place + len(before) :], ""]))
    return mutated


def _find_tests(test: str) -> list[str]:
    """Node ids of the test in files of that name."""
    file, _, name = test.partition("::")
    wanted = re.compile("^def " + (rf"{name}\(" if name else "test_"), re.MULTILINE)
    found = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob(file) if wanted.search(path.read_text())]
    return [f"{path}::{name}".removesuffix("::") for path in found]


def _copy_repository(target: Path) -> None:
    """Copy what git tracks or would track, so that neither caches nor environments travel."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _try(copy: Path, mutant: Mutant) -> str:
    original = (copy / mutant.path).read_text()
    (copy / mutant.path).write_text(mutant.source)
    trial = _run_tests(copy, list(mutant.tests))
    (copy / mutant.path).write_text(original)
    _say(f"{mutant.mechanism:<45} {trial}")
    return trial.partition(" ")[0]


def _run_tests(root: Path, tests: list[str]) -> str:
    """survived, noticed with the first test that failed or hung, or broken: pytest could run no test."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=_TIME_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "noticed by a test that hangs"
    if done.returncode > 1:
        return f"broken: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return "survived" if done.returncode == 0 else f"noticed by {failed[1] if failed else 'a test'}"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
