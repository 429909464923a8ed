"""The command that `lens suggest` prints runs with what was shown, for random files."""

import csv
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from lens_cli.select.sources import Sources
from lens_cli.suggest.arguments import write_command
from lens_engine import LanguageModel, suggest
from lens_engine.errors import InvalidInput
from lens_engine.metering.estimate import CostEstimate
from lens_engine.task.unicode_form import fold_text
from lens_engine.testing import TableScorer
from tests.unit.lens_cli.suggest.test_suggest_command import arguments_of

WORDS = st.text("abc ,;|\"'=äß", min_size=1, max_size=12).filter(lambda word: word.strip(" ,;|\"'="))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Tables of a few labels, some rare or written in two ways, with one or two odd texts."""
    labels = draw(st.lists(WORDS, min_size=2, max_size=4, unique_by=fold_text))
    counts = [draw(st.sampled_from([1, 2, 5, 30, 60])) for _ in labels]
    rows = [
        (f"text {number} {draw(st.sampled_from(['good', 'bad', 'a b c']))}", label)
        for label, count in zip(labels, counts, strict=True)
        for number in range(count)
    ]
    rows += [("word " * draw(st.integers(1, 2_000)), labels[0]), (rows[0][0], labels[0].upper())]
    header = draw(st.sampled_from([("text", "label"), ("Kommentar", "Kategorie"), ("note", "sort")]))
    file = StringIO()
    csv.writer(file, delimiter=draw(st.sampled_from(",;\t"))).writerows([header, *rows])
    return file.getvalue().encode(draw(st.sampled_from(["utf-8", "cp1252", "utf-16"])))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=files(), room=st.sampled_from([40, 400, 8_000]))
def test_command_runs_with_the_rows_the_cost_and_the_refusals_that_were_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, room: int
) -> None:
    path, scorer, estimates = tmp_path / "rows", TableScorer(max_prompt_tokens=room), list[CostEstimate]()
    path.write_bytes(content)
    monkeypatch.setattr("lens_cli.select.run.opened_model", lambda *_, **__: nullcontext(LanguageModel(scorer)))
    monkeypatch.setattr("lens_cli.views.result.show_estimate", lambda estimate, _: estimates.append(estimate))
    try:
        suggestion = suggest(path, scorer)
    except InvalidInput as error:
        event(f"refused: {type(error).__name__}")
        return
    for plan in suggestion.plans:
        words = arguments_of(write_command(replace(suggestion, plans=(replace(plan, refusal=None),)), Sources(path)))
        result = CliRunner().invoke(create_application(), [*words, "--estimate"])
        if plan.refusal is not None:
            assert isinstance(result.exception, Refusal)
            event(f"{plan.preset} refused")
            continue
        assert result.exit_code == 0, result.output
        found = estimates.pop()
        assert found.splits is not None
        assert plan.splits is not None
        assert [getattr(found.splits, name.replace(" ", "_")) for name in plan.splits] == list(plan.splits.values())
        assert found.total == plan.cost
