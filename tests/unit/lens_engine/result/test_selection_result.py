from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from lens_engine.classifier.quality import Accuracy
from lens_engine.config import SelectionConfig
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult, Spending
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.types import Example


@pytest.fixture(scope="module")
def result(
    make_planted_problem: Callable[..., Problem],
    make_planted_scorer: Callable[..., Any],
    make_config: Callable[..., SelectionConfig],
) -> SelectionResult:
    config = make_config(search={"iterations": 1})
    return select_support_examples(make_planted_problem(), make_planted_scorer(), config)


def test_digest_leaves_out_cost_and_itself(result: SelectionResult) -> None:
    spent = Spending(pairs=1, tokens=2, seconds=3.0, permutations_judged=4)

    assert result.model_copy(update={"cost": spent, "digest": "odd"}).with_digest().digest == result.digest
    assert len(result.digest) == 64


def test_digest_leaves_out_why_an_executor_was_refused_but_not_which_ran(result: SelectionResult) -> None:
    noted, other = (
        result.model_copy(update={"provenance": result.provenance.model_copy(update=update)}).with_digest()
        for update in ({"executor_note": "packed: differs"}, {"executor": "cached"})
    )
    assert noted.digest == result.digest != other.digest


@pytest.mark.parametrize(
    "update", [{"partial": True}, {"support_examples": ()}, {"warnings": ("careful",)}, {"contenders": ()}]
)
def test_digest_changes_with_anything_else(update: dict[str, Any], result: SelectionResult) -> None:
    assert result.model_copy(update=update).with_digest().digest != result.digest


def test_prompt_for_a_new_text_is_built_from_the_file_alone(result: SelectionResult, task: Task) -> None:
    loaded = SelectionResult.model_validate_json(result.model_dump_json())

    assert loaded.task.task() == task
    assert loaded.prompt is not None
    demonstrations = [Example(example.row, example.text, example.label) for example in loaded.examples]
    assert loaded.prompt + task.render_query("new") == task.render_prompt(demonstrations, "new")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_figure_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Accuracy(accuracy=value, n=3, ci95=(0.0, 1.0))


def test_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Accuracy.model_validate({"accuracy": 1.0, "n": 3, "ci95": (0.0, 1.0), "recall": 1.0})
