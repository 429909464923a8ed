import io
from pathlib import Path

import pytest
from rich.console import Console

from lens_cli.asked_model import ChosenModel
from lens_cli.select.sources import Sources
from lens_cli.suggest.view import show_suggestion
from lens_cli.views.result import show_result
from lens_engine.prompt.chat import ask_for_letters
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task
from lens_engine.run.suggest import suggest
from tests.endpoints.chat_double import MODEL, ChatDouble
from tests.endpoints.serving import serving
from tests.nightly.lens_engine.test_chat_runs import connect, make_problem
from tests.unit.lens_cli.results import make_result


def test_suggestion_shows_how_the_chat_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
    lines = [f"{one.text},{one.label}" for one in make_problem().examples]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *lines]))
    with serving(ChatDouble()) as double:
        scorer = connect(double, most_requests=1)
        suggestion = suggest(tmp_path / "train.csv", scorer)
        scorer.close()
    assert suggestion.asked is not None
    assert suggestion.asked.chat is not None
    written = io.StringIO()
    show_suggestion(
        suggestion, Sources(tmp_path / "train.csv"), Console(file=written, width=200), model=ChosenModel(MODEL)
    )
    assert f"The system message: {suggestion.asked.chat.system!r}" in written.getvalue()


def test_result_shows_how_the_chat_is_asked() -> None:
    task = ask_for_letters(Task("{text} Topic: {label}.", {"a": "Alpha", "b": "Beta"}))
    written = io.StringIO()
    show_result(make_result().model_copy(update={"task": TaskRecord.of(task)}), Console(file=written, width=300))
    assert f"The system message: {task.chat.system!r}" in written.getvalue()
