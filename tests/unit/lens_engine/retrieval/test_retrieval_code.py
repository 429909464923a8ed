"""The folder that Lens writes renders the prompt of an input byte for byte, without Lens."""

import ast
import json
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lens_engine.exports.retrieval_code import write_retrieval
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Pool, Retrieval
from lens_engine.task.chat import ask_for_letters, ask_for_words, write_turns
from lens_engine.task.label_end import EndedTask
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Task
from lens_engine.types import Example
from tests.unit.lens_engine.retrieval.odd_texts import TEXTS

PLAIN = Task("Message: {text}\nTopic:  {label}!", {"a": "Alpha", "b": "ß \u2028\"'", "__proto__": "{text}"}, "\r\n\r\n")
TASKS = {
    "plain": PLAIN,
    "ended": EndedTask(Task("{{{text}}} {label}.", {"a": "refund", "b": "refund status", "__proto__": "c"}, ""), "."),
    "words": ask_for_words(PLAIN, ["Al", "ß", "{"]),
    "letters": ask_for_letters(PLAIN),
}
POOL = tuple(
    Example(row, text, label)
    for row, text, label in (
        (0, "where is my parcel", "a"),
        (4, "the parcel is late", "b"),
        (5, "a refund, please", "a"),
        (9, "\ufdd0a refund\ufdd1\r\n", "__proto__"),
    )
)


def run_module(folder: Path, task: Task, retrieval: Retrieval, fixed: Sequence[Example] = ()) -> dict[str, Any]:
    """The names of the written module."""
    for name, content in write_retrieval(TaskRecord.of(task), fixed, retrieval).items():
        (folder / name).write_bytes(content)
    return runpy.run_path(str(folder / "prompt.py"))


def render_by_library(task: Task, retrieval: Retrieval, fixed: Sequence[Example], text: str) -> str:
    (found,) = retrieval.demonstrations([text], [one.row for one in fixed])
    return task.render_prompt([*fixed, *(one.example for one in found)], text)


def join(rendered: str | list[dict[str, str]]) -> str:
    return rendered if isinstance(rendered, str) else write_turns(rendered)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    task=st.sampled_from(sorted(TASKS)),
    rows=st.lists(st.tuples(TEXTS, st.sampled_from(PLAIN.labels)), min_size=1, max_size=8),
    asked=st.lists(TEXTS, min_size=1, max_size=3),
    nearest=st.integers(1, 9),
    num_fixed=st.integers(0, 3),
)
def test_module_renders_the_bytes_of_the_library(
    tmp_path: Path, task: str, rows: list[tuple[str, str]], asked: list[str], nearest: int, num_fixed: int
) -> None:
    examples = [Example(2 * place + 1, text, label) for place, (text, label) in enumerate(rows)]
    fixed = examples[:num_fixed][::-1]
    form = PromptForm(kind="fixed+nearest" if fixed else "nearest", nearest=nearest)
    retrieval = Retrieval(form=form, pool=Pool.of(examples))

    render = run_module(tmp_path, TASKS[task], retrieval, fixed)["render"]

    for text in [*asked, rows[0][0]]:
        assert join(render(text)) == render_by_library(TASKS[task], retrieval, fixed, text)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_fixed_form_is_rendered_too(tmp_path: Path, task: Task) -> None:
    retrieval = Retrieval(form=PromptForm(), pool=Pool.of(POOL))

    rendered = run_module(tmp_path, task, retrieval, POOL[:2])["render"]("a parcel")

    assert join(rendered) == task.render_prompt(POOL[:2], "a parcel")


def test_module_says_which_rows_were_found(tmp_path: Path) -> None:
    retrieval = Retrieval(form=PromptForm(kind="nearest", nearest=2), pool=Pool.of(POOL))
    (expected,) = retrieval.demonstrations(["where is my late parcel"], ())

    found = run_module(tmp_path, PLAIN, retrieval)["find"]("where is my late parcel")

    assert [one["row"] for one in found] == [4, 0]
    assert [(one["text"], one["label"], one["similarity"]) for one in found] == [
        (one.example.text, one.example.label, one.similarity) for one in expected
    ]


def test_messages_may_be_changed_by_the_caller(tmp_path: Path) -> None:
    retrieval = Retrieval(form=PromptForm(kind="nearest", nearest=2), pool=Pool.of(POOL))
    render = run_module(tmp_path, TASKS["words"], retrieval)["render"]
    before = render("a parcel")

    render("a parcel")[0]["content"] = "changed"

    assert render("a parcel") == before
    assert [turn["role"] for turn in before] == ["system", "user", "assistant", "user", "assistant", "user"]


def test_pool_has_a_line_for_each_row_and_the_label_words(tmp_path: Path) -> None:
    retrieval = Retrieval(form=PromptForm(kind="nearest", nearest=2), pool=Pool.of(POOL))
    run_module(tmp_path, PLAIN, retrieval)

    written = (tmp_path / "pool.json").read_text("utf-8")

    assert written.count('\n{"row":') == len(POOL)
    assert json.loads(written)["label_words"] == PLAIN.verbalizer.words
    assert "`nearest 2`, over a pool of 4 rows" in (tmp_path / "README.md").read_text("utf-8")


def test_module_needs_python_39_and_its_library_alone() -> None:
    code = write_retrieval(TaskRecord.of(PLAIN), (), Retrieval(form=PromptForm(), pool=Pool.of(POOL)))["prompt.py"]

    parsed = ast.parse(code, feature_version=(3, 9))

    modules = {node.module for node in parsed.body if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in parsed.body if isinstance(node, ast.Import) for alias in node.names}
    assert modules == {
        *("__future__", "collections", "collections.abc", "functools", "heapq", "json", "math", "pathlib", "re"),
        *("typing", "unicodedata"),
    }
