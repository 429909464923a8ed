"""Hold the lines of product, tests, lab and Markdown, and those of each file, below the numbers in lines.toml.

`make check` calls this. The numbers only go down: a commit that brings lines takes as many out.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = tomllib.loads((Path(__file__).parent / "lines.toml").read_text("utf-8"))
PARTS = {
    "product": ("lens_engine", "app", "lens_client", "lens_cli", "worker", "migrations"),
    "tests": ("tests",),
    "lab": ("lab",),
}
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md")


def count(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def is_made(path: Path) -> bool:
    """Whether a script writes the file: nobody reads or changes its lines."""
    return path.read_text("utf-8").startswith("# Made from ")


def count_files(part: str) -> dict[str, int]:
    """The lines of each Python file of a part."""
    paths = [path for folder in PARTS[part] for path in (ROOT / folder).rglob("*.py") if not is_made(path)]
    return {path.relative_to(ROOT).as_posix(): count(path) for path in paths}


def find_faults() -> list[str]:
    """One sentence for each number that is exceeded."""
    sizes = {part: count_files(part) for part in PARTS}
    totals = {part: sum(lines.values()) for part, lines in sizes.items()}
    totals["Markdown"] = sum(count(path) for pattern in PAGES for path in ROOT.glob(pattern))
    files = {name: lines for part in ("product", "lab") for name, lines in sizes[part].items()}
    return [
        *(f"{part}: {lines:,} lines, at most {MOST[part]:,}" for part, lines in totals.items() if lines > MOST[part]),
        *(f"{name}: more than {MOST['file']} lines" for name, lines in files.items() if lines > MOST["file"]),
    ]


if __name__ == "__main__":
    found = find_faults()
    sys.exit("\n".join([*found, "Leave something out: the numbers in .ci/lines.toml only go down."]) if found else 0)
