"""A mutation: one mechanism switched off by a change of the source, and the tests that must fail then."""

import ast
from dataclasses import dataclass
from pathlib import Path


class StaleMutation(Exception):
    """The source has changed, so that a mutation no longer fits."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """`old` must occur exactly once in the file. `tests` are node ids of pytest, relative to the repository."""

    mechanism: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def mutate(self, source: str) -> str:
        """Return the source without the mechanism.

        Raises:
            StaleMutation: `old` does not occur exactly once, or the result is no Python.
        """
        found = source.count(self.old)
        if found != 1:
            raise StaleMutation(f"{self.mechanism}: {self.old!r} occurs {found} times in {self.path}, not once")
        mutated = source.replace(self.old, self.new)
        try:
            ast.parse(mutated)
        except SyntaxError as error:
            raise StaleMutation(f"{self.mechanism}: {self.path} is no Python after the change: {error}") from error
        return mutated

    def apply(self, root: Path) -> None:
        """Change the file below `root`.

        Raises:
            StaleMutation: as `mutate`.
        """
        file = root / self.path
        file.write_text(self.mutate(file.read_text()))

    def revert(self, root: Path, original: Path) -> None:
        """Copy the file back from the folder `original`."""
        (root / self.path).write_text((original / self.path).read_text())
