import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lens_engine
from lens_engine import LanguageModel, Problem, estimate_cost, select_support_examples, suggest
from lens_engine.config import SelectionConfig
from lens_engine.testing import TableScorer

_ROOT = Path(lens_engine.__file__).parent
_WITH_TORCH = [
    f"lens_engine/model/local/{name}"
    for name in ["memory", "scorer", "executors", "executor_choice", "load", "model_reader", "torch_choices"]
]
"""Modules and packages that need torch when they are imported."""


def list_modules() -> list[str]:
    """Every module of the engine that the API process may import."""
    places = (path.relative_to(_ROOT.parent).with_suffix("") for path in sorted(_ROOT.rglob("*.py")))
    light = (place for place in places if not any(place.is_relative_to(heavy) for heavy in _WITH_TORCH))
    return [".".join(part for part in place.parts if part != "__init__") for place in light]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)


def test_engine_without_models_imports_no_torch_and_knows_nothing_of_the_service() -> None:
    modules = list_modules()
    assert "lens_engine.run.pipeline" in modules
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


Make = Callable[..., Any]


@pytest.fixture(scope="module")
def config(make_config: Make) -> SelectionConfig:
    found: SelectionConfig = make_config(search={"iterations": 1}, classifier={"kind": "auto"})
    return found


def test_language_model_stands_for_its_scorer_everywhere(
    problem: Problem, config: SelectionConfig, make_planted_scorer: Make, tmp_path: Path
) -> None:
    scorer = make_planted_scorer()
    model = LanguageModel(scorer)

    result = select_support_examples(problem, model, config, progress=False)

    assert result.digest == select_support_examples(problem, scorer, config, progress=False).digest
    assert estimate_cost(problem, model, config).phases == estimate_cost(problem, scorer, config).phases
    assert result.classifier is not None
    texts = ["day1 sunny quality50 difficulty50"]
    assert result.classifier.predict(texts, model).labels == result.classifier.predict(texts, scorer).labels
    path = tmp_path / "train.csv"
    path.write_text("text,label\n" + "".join(f"day {row},{'ab'[row % 2]}\n" for row in range(60)))
    costs = [plan.cost for plan in suggest(path, model).plans]
    assert costs == [plan.cost for plan in suggest(path, scorer).plans]
    assert costs[0] is not None


@pytest.mark.parametrize("act", [select_support_examples, estimate_cost])
@pytest.mark.parametrize(
    ("place", "given", "message"),
    [
        (0, [], r"the problem is of type list; write Problem\(Task\.for_examples\(examples\)"),
        (1, "smollm2-135m-instruct", r"type str; give open_model\('smollm2-135m-instruct'\), or a LabelScorer"),
        (1, None, "type NoneType; give the model that open_model returns"),
        (1, 3, "type int; give the model that open_model returns"),
        (2, "quick", r"the config is of type str; write resolve_config\(preset, options\)"),
    ],
)
def test_argument_of_another_type_is_named(
    act: Any, place: int, given: Any, message: str, problem: Problem, config: SelectionConfig
) -> None:
    arguments = [problem, TableScorer(), config]
    arguments[place] = given
    with pytest.raises(TypeError, match=message):
        act(*arguments)


def test_cost_is_shown_in_a_line(problem: Problem, config: SelectionConfig) -> None:
    estimate = estimate_cost(problem, TableScorer(), config)
    cost = estimate.total
    assert repr(estimate).startswith(f"CostEstimate({cost.pairs:,} pairs, {cost.tokens:,} tokens, about ")


def test_suggestion_is_shown_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("message,topic\n" + "".join(f"day {row} of all,{'ab'[row % 2]}\n" for row in range(20)))
    assert repr(suggest(path)) == (
        "Suggestion(20 rows, texts in column 'message', labels in column 'topic', 2 labels, "
        "presets that can run: quick, standard, paper)"
    )


def test_copies_of_a_language_model_are_the_model() -> None:
    model = LanguageModel(TableScorer())
    assert copy.deepcopy([model])[0] is model
    assert repr(model) == "LanguageModel(table, float32, cpu)"


def test_names_can_be_completed_before_they_are_imported() -> None:
    code = "import sys, lens_engine; print(*dir(lens_engine)); print(*(n for n in sys.modules if n == 'numpy'))"
    names, numpy = run_python(code).stdout.splitlines()
    assert set(lens_engine.__all__) <= set(names.split())
    assert numpy == ""
