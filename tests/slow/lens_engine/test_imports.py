import subprocess
import sys
from pathlib import Path

import lens_engine

_ROOT = Path(lens_engine.__file__).parent
_WITH_TORCH = (
    "local/activations.py",
    "local/memory.py",
    "local/scorer.py",
    "local/surroundings.py",
    "local/executors",
    "local/executor_choice.py",
    "local/float32_room.py",
    "local/load.py",
    "local/model_reader.py",
    "local/number_format.py",
    "local/self_check.py",
    "local/torch_choices.py",
)
"""Modules and packages that need torch when they are imported."""


def list_modules() -> list[str]:
    """Every module of the engine that the API process may import."""
    found = list[str]()
    for path in sorted(_ROOT.rglob("*.py")):
        place = path.relative_to(_ROOT)
        if is_free_of_torch(place):
            parts = [part for part in place.with_suffix("").parts if part != "__init__"]
            found.append(".".join(["lens_engine", *parts]))
    return found


def is_free_of_torch(place: Path) -> bool:
    """Whether a module is meant to be, by its path in the package."""
    return not any(place.is_relative_to(heavy) for heavy in _WITH_TORCH)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)


def test_engine_without_models_imports_no_torch_and_knows_nothing_of_the_service() -> None:
    modules = list_modules()
    assert "lens_engine.pipeline" in modules
    of_models, of_service = (
        "'torch', 'transformers', 'safetensors', 'gguf'",
        "'app', 'worker', 'fastapi', 'rq', 'sqlalchemy'",
    )
    found = f"{{name.split('.')[0] for name in sys.modules}} & {{{of_models}, {of_service}}}"
    code = f"import importlib, sys; [importlib.import_module(name) for name in {modules}]; print(sorted({found}))"

    outcome = run_python(code)

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.strip() == "[]"


def test_missing_package_of_endpoints_is_named_with_its_remedy() -> None:
    outcome = run_python(
        "import sys; sys.modules['httpx'] = None\n"
        "from lens_engine.errors import InvalidConfig\n"
        "from lens_engine.opening import open_model\n"
        "try:\n    open_model('vllm:m@http://127.0.0.1:9')\n"
        "except InvalidConfig as error:\n    print(error)"
    )

    assert "needs httpx, which is not installed" in outcome.stdout, outcome.stderr
    assert "'.[endpoint]'" in outcome.stdout


def test_importing_the_package_alone_imports_none_of_its_modules() -> None:
    outcome = run_python("import sys, lens_engine; print([n for n in sys.modules if n.startswith('lens_engine.')])")

    assert outcome.stdout.strip() == "['lens_engine.version']"
