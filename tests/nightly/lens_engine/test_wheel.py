import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.compose.composition import ROOT


def test_wheel_has_the_marker_of_the_types(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "lens_engine", tmp_path / "lens_engine", ignore=ignored)
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"

    done = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=True)

    with ZipFile(tmp_path / "dist" / done.stdout.splitlines()[-1]) as wheel:
        names = wheel.namelist()
    assert "lens_engine/py.typed" in names
    assert "lens_engine/run/estimator.py" in names
