"""What starts often imports nothing that takes long to import."""

import subprocess
import sys

import pytest

HEAVY = ("scipy", "sklearn", "pyarrow", "pandas", "torch", "transformers", "ray")

WORKER = "import worker.process, worker.inspection, worker.execution"


@pytest.mark.parametrize("program", ["import app.main", WORKER], ids=["API", "idle worker"])
def test_nothing_heavy_is_imported_at_the_start(program: str) -> None:
    report = f"import sys; print('found:', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "found: []"
