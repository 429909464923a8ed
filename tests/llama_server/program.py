"""Builds the program llama-server from the sources of llama.cpp in the source package of llama-cpp-python.

The package index is the only network that Lens asks for, and has llama.cpp nowhere else. pip fetches the package, so
that indexes, proxies and certificates are those of pip. The cache folder keeps the program.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lens_engine.disk import find_made, make_once

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"  # has llama.cpp of November 2026

_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",  # one file
    "-DGGML_NATIVE=OFF",  # some virtual machines name AMX and end a process that uses it
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_TOOLS=ON",
    "-DLLAMA_BUILD_SERVER=ON",
    "-DLLAMA_BUILD_UI=OFF",  # a web page, which cmake would download
    "-DLLAMA_USE_PREBUILT_UI=OFF",
)
_NAME = "llama-server"
_BUILD_SECONDS = 1800.0


class CannotBuild(Exception):
    """This machine lacks what the build needs. The message says what."""


def find_program(cache_dir: Path | None = None) -> Path | None:
    """The program, if it has been built for this processor."""
    entry = find_made(_key(), cache_dir)
    return entry and entry / _NAME


def build_program(cache_dir: Path | None = None) -> Path:
    """The program; it is built if the cache folder has none. This takes five minutes of two cores.

    Raises:
        CannotBuild: cmake or a compiler is missing, pip cannot fetch the sources, or they do not compile in half an
            hour.
    """
    return make_once(_key(), _build_into, cache_dir) / _NAME


def _key() -> str:
    return f"{_NAME}-{VERSION}-{hashlib.sha256(json.dumps([_OPTIONS, _processor()]).encode()).hexdigest()[:16]}"


def _processor() -> list[str]:
    """What decides the instructions that a native build may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:  # not on Linux
        lines = []
    return [platform.system(), platform.machine(), *sorted({line for line in lines if line.startswith("flags")})]


def _build_into(entry: Path) -> None:
    _require_tools()
    with tempfile.TemporaryDirectory(prefix=f"{_NAME}-") as scratch:
        sources = _fetch_sources(Path(scratch))
        build = Path(scratch) / "build"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        _run(["cmake", "-S", str(sources), "-B", str(build), *generator, *_OPTIONS])
        _run(["cmake", "--build", str(build), "--target", _NAME, "--parallel", str(os.cpu_count() or 1)])
        shutil.move(build / "bin" / _NAME, entry / _NAME)


def _require_tools() -> None:
    compilers = (os.environ.get("CXX", "c++"), "g++", "clang++")
    missing = [] if shutil.which("cmake") else ["cmake"]
    if not any(map(shutil.which, compilers)):
        missing.append("a C++ compiler")
    if missing:
        raise CannotBuild(f"{_NAME} needs {' and '.join(missing)} to be built")


def _fetch_sources(scratch: Path) -> Path:
    """The folder with the sources of llama.cpp."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE, "--dest", str(scratch)]
    done = subprocess.run([*pip, f"{PACKAGE}=={VERSION}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"pip cannot fetch the sources of {_NAME}, {PACKAGE} {VERSION}:\n{done.stderr.strip()}")
    [archive] = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(scratch / "package", filter="data")
    [sources] = (scratch / "package").glob("*/vendor/llama.cpp")
    return sources


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, timeout=_BUILD_SECONDS)
    except subprocess.SubprocessError as error:
        raise CannotBuild(f"{command[0]} failed: {error}") from error
