"""Write the blocking modules of lens_client from those for asyncio: `python .ci/blocking_client.py`.

`async_NAME.py` makes `NAME.py`: names and calls of asyncio become those of a thread, and ruff sorts and folds.
tests/unit/lens_client/test_blocking_client.py fails where a module differs from what this script writes.
"""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "lens_client"
_HEAD = "# Made from lens_client/{name} by `python .ci/blocking_client.py`: change that file, and run the command.\n"
_RULES = (
    (r"\basync (?=def|with|for)", ""),
    (r"\bawait ", ""),
    (r"\basync_(?=\w)", ""),  # modules
    (r"\bAsync(?=[A-Z])", ""),  # classes, of httpx too
    (r"\basyncio\b", "time"),  # `sleep`
    (r"\b__a(?=enter__|exit__)", "__"),
    (r"\baclose\b", "close"),
)


def write_blocking_modules() -> dict[Path, str]:
    """The text of each blocking module, by its path."""
    sources = sorted(CLIENT.glob("async_*.py"))
    return {source.with_name(source.name.removeprefix("async_")): _make_blocking(source) for source in sources}


def _make_blocking(source: Path) -> str:
    text = source.read_text("utf-8")
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    sorted_imports = _run_ruff(_HEAD.format(name=source.name) + text, "check", "--quiet", "--select=I", "--fix")
    return _run_ruff(sorted_imports, "format")


def _run_ruff(text: str, *command: str) -> str:
    ruff = [sys.executable, "-m", "ruff", *command, f"--stdin-filename={CLIENT / 'made.py'}", "-"]
    return subprocess.run(ruff, input=text, capture_output=True, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    for path, text in write_blocking_modules().items():
        path.write_text(text, "utf-8")
