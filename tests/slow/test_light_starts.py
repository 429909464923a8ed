"""What starts often imports nothing that takes long to import, and its threads leave the processor to others."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

HEAVY = ("scipy", "sklearn", "pyarrow", "pandas", "torch", "transformers", "ray")

ROOT = Path(__file__).parents[2]
SUGGESTING = ("-m", "lens_cli", "suggest", "--no-model", "rows.csv")
WORKER = "import worker.process, worker.inspection, worker.jobs"


@pytest.mark.parametrize("program", ["import app.main", WORKER], ids=["API", "idle worker"])
def test_nothing_heavy_is_imported_at_the_start(program: str) -> None:
    report = f"import sys; print('found:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "found: []"


def test_threads_that_wait_sleep(tmp_path: Path) -> None:
    check_threads(tmp_path, SUGGESTING, {}, "PASSIVE")


def check_threads(tmp_path: Path, command: Sequence[str], given: Mapping[str, str], policy: str) -> None:
    rows = [f"a day of {('sun', 'rain')[row % 2]} {row},{row % 2}" for row in range(80)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows]))
    environment = {name: value for name, value in os.environ.items() if "OMP_" not in name}
    environment |= {"OMP_DISPLAY_ENV": "TRUE", "LENS_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT), **given}

    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    assert set(re.findall(r"OMP_WAIT_POLICY = '(\w+)'", done.stderr)) == {policy}  # as libgomp has it
