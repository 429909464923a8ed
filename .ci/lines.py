"""Hold the number of lines of each package, and of each file, below the ceilings in lines.toml.

`make check` calls this. A commit that needs more lines raises a ceiling on purpose, where a reviewer sees it.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CEILINGS = tomllib.loads((Path(__file__).parent / "lines.toml").read_text("utf-8"))
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md")


def count(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def is_made(path: Path) -> bool:
    """Whether a script writes the file: nobody reads or changes its lines."""
    return path.read_text("utf-8").startswith("# Made from ")


def find_faults() -> list[str]:
    """One sentence for each ceiling that is exceeded, and for each exception that is no longer needed."""
    totals = {"Markdown": sum(count(path) for pattern in PAGES for path in ROOT.glob(pattern))}
    ceilings: dict[str, int] = CEILINGS["lines"]
    long_files = set()
    for package in ceilings.keys() - {"Markdown"}:
        written = [path for path in (ROOT / package).rglob("*.py") if not is_made(path)]
        sizes = {path.relative_to(ROOT).as_posix(): count(path) for path in written}
        totals[package] = sum(sizes.values())
        if package != "tests":
            long_files |= {name for name, lines in sizes.items() if lines > CEILINGS["file"]}
    exceptions = set(CEILINGS["long_files"])
    return [
        *(f"{name}: {totals[name]:,} lines, ceiling {top:,}" for name, top in ceilings.items() if totals[name] > top),
        *(f"{name}: more than {CEILINGS['file']} lines" for name in sorted(long_files - exceptions)),
        *(f"{name}: not a long file any more; delete it from long_files" for name in sorted(exceptions - long_files)),
    ]


if __name__ == "__main__":
    found = find_faults()
    sys.exit("\n".join([*found, "Leave something out, or raise the ceiling in .ci/lines.toml."]) if found else 0)
