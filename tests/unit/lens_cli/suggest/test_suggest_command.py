import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.asked_model import ChosenModel
from lens_cli.refusals import Refusal
from lens_cli.select.options import TaskOptions
from lens_cli.select.run import SelectionRun
from lens_cli.select.sources import Sources
from lens_cli.select.words import note_silent_words
from lens_cli.suggest.view import quote_template, show_suggestion, write_command
from lens_engine import suggest
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.presets import resolve_config
from lens_engine.prompt.request import TaskRequest
from lens_engine.prompt.template import suggest_instructions
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE, OTHER_TEMPLATES
from lens_engine.run.suggest import price_suggestion, suggest_for_rows
from lens_engine.testing import TableScorer

Rows = Sequence[tuple[str, str]]
GOOD_AND_BAD = [(f"film {row}", "good" if row % 2 else "bad") for row in range(120)]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_rows(rows: Rows, header: str = "text,label") -> Path:
        path = tmp_path / "my rows.csv"
        path.write_text("\n".join([header, *(f'"{text}","{label}"' for text, label in rows)]))
        return path

    return write_rows


def arguments_of(command: str) -> list[str]:
    """What a shell passes to `lens`."""
    script = f"lens() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def shown(path: Path, *, model: str = "m", has_model: bool = True) -> str:
    console = Console(record=True, width=100)
    scorer = TableScorer() if has_model else None
    with console.capture() as captured:
        show_suggestion(suggest(path, scorer), Sources(path), console, ChosenModel(model))
    return captured.get()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(create_application(), ["suggest", *arguments], env={"COLUMNS": "100"})


def test_suggestion_has_labels_templates_presets_and_command(write: Any) -> None:
    output = shown(write(GOOD_AND_BAD))
    assert "rows    120" in output
    assert "text    column 'text': named exactly so" in output
    labels = [line.split() for line in output.splitlines() if line.startswith((" good", " bad"))]
    assert labels == [["bad", "60", "bad"], ["good", "60", "good"]]
    assert f"default {quote_template(DEFAULT_TEMPLATE)}" in output
    assert all(f"or      {quote_template(template)}" in output for template in OTHER_TEMPLATES)
    assert any(line.split()[:2] == ["judging", "60"] for line in output.splitlines())
    assert any(line.split()[:1] == ["tokens"] for line in output.splitlines())
    assert "Counting words is right for " in output
    assert "always the most frequent label: 50 %" in output
    assert output.rstrip().endswith("--output result.json --classifier classifier.json")


def test_suggestion_has_instructions_with_the_label_words(write: Any) -> None:
    path = write([*GOOD_AND_BAD, ("film", "rare")])
    found = suggest(path).instructions
    assert found == suggest_instructions(["bad", "good"])  # a label that is left out is not named
    assert "2 labels" in repr(suggest(path))
    output = " ".join(shown(path).split())
    assert "Labels (2)" in output
    assert "Instructions (--instruction; none by default)" in output
    assert all(" ".join(quote_template(one).split()) in output for one in found)


def test_rare_code_needs_no_label_word(write: Any) -> None:
    path = write([*GOOD_AND_BAD, ("film", "7")])
    assert suggest(path).instructions == suggest_instructions(["bad", "good"])
    assert suggest(path).warnings == ()
    assert "say nothing" not in shown(path)


def test_codes_are_not_proposed_as_label_words(write: Any) -> None:
    codes = {"good": "1", "bad": "cat_17"}
    path = write([(text, codes[label]) for text, label in GOOD_AND_BAD])
    (note,) = note_silent_words(suggest(path).problem.task.verbalizer)
    output = shown(path)
    assert output.count("say nothing") == 1
    assert f"note: {note}\n" in output
    assert note.endswith("give each label a word: --verbalizer '1=…' --verbalizer 'cat_17=…'")
    command = output[output.index("Command") :]
    assert "lens select" in command
    assert not any(code in command for code in ("--verbalizer", "cat_17", "cat 17"))  # no instruction names them either
    assert "say nothing" not in shown(write(GOOD_AND_BAD))


def test_rows_are_named_by_their_lines(write: Any) -> None:
    output = shown(write([*GOOD_AND_BAD, ("", "good"), ("torn", "good"), ("torn", "bad")]))
    assert "note: 1 row without a text left out (line 122)" in output
    assert "1 text of the dataset rows has more than one label and was set aside (line 123)" in output


def test_label_with_an_equals_sign_is_in_the_command_as_it_is_read(write: Any) -> None:
    path = write([(text, f"x={label}" if label == "good" else label) for text, label in GOOD_AND_BAD])
    words = arguments_of(write_command(suggest(path), Sources(path)))
    given = [value for flag, value in pairwise(words) if flag == "--verbalizer"]
    assert given == ["bad=bad", "x=good=x=good"]
    request = TaskOptions(None, given).read(Sources(path).list_labels)
    assert request.verbalizer is not None
    assert dict(request.verbalizer.words) == {"bad": "bad", "x=good": "x=good"}


def test_named_column_of_labels_is_in_the_first_template_of_both_commands(write: Any) -> None:
    path = write(GOOD_AND_BAD, "text,Sentiment")
    prepared = SelectionRun.prepare(Sources(path), TaskRequest(), resolve_config("quick"))
    assert prepared.problem.task.template.pattern == suggest(path).templates[0] == "{text} Sentiment: {label}."


def test_without_model_there_is_no_cost(write: Any) -> None:
    result = run(str(write(GOOD_AND_BAD)), "--no-model")
    assert result.exit_code == 0, result.output
    assert not any(line.split()[:1] in (["tokens"], ["usual"]) for line in result.output.splitlines())
    assert "lens select" in result.output


def test_command_chooses_among_templates_and_instructions_at_the_cost_that_is_shown(write: Any) -> None:
    found = suggest(write(GOOD_AND_BAD), TableScorer())
    words = arguments_of(write_command(found, Sources(Path("my rows.csv"))))
    given = {
        name: [value for flag, value in pairwise(words) if flag == name] for name in ("--template", "--instruction")
    }
    assert given == {"--template": [*found.templates], "--instruction": ["", *found.instructions]}
    task, others = (
        TaskOptions(given["--template"], instruction=given["--instruction"]).read().complete(found.problem.examples)
    )
    assert (task, others) == (found.problem.task, found.problem.alternatives)
    assert len(others) == 11
    alone = price_suggestion(suggest_for_rows(found.problem.examples), TableScorer())
    quick, without = (one.plans[0].cost for one in (found, alone))
    assert quick is not None
    assert without is not None
    assert quick.pairs > without.pairs


def test_command_names_columns_options_and_model(write: Any) -> None:
    rows = [(text, "Good" if row == 4 else label) for row, (text, label) in enumerate(GOOD_AND_BAD)]
    path = write(rows, "My text,Label")
    words = arguments_of(write_command(suggest(path), Sources(path), ChosenModel("other/model")))
    assert words[2:6] == ["--text-column", "My text", "--label-column", "Label"]
    assert [words[i + 1] for i, word in enumerate(words) if word == "--verbalizer"] == ["bad=bad", "good=good"]
    assert "--option" not in words
    assert words[words.index("--model") + 1] == "other/model"


def test_command_is_taken_by_lens_select(write: Any) -> None:
    """Also with look-alike labels and a label that is too rare."""
    rows = [(text, "Good " if row == 4 else label) for row, (text, label) in enumerate(GOOD_AND_BAD)]
    path = write([*rows, ("one", "odd")], "My text,Label")
    words = arguments_of(write_command(suggest(path), Sources(path), ChosenModel("./none")))
    assert "labels.rare=drop" in words
    result = CliRunner().invoke(create_application(), words)
    assert isinstance(result.exception, Refusal)
    assert result.exception.details == ("where: --model",)


def test_test_file_is_used_and_named_in_the_command(write: Any, tmp_path: Path) -> None:
    path, test = write(GOOD_AND_BAD), tmp_path / "test.csv"
    test.write_text(path.read_text().replace("film", "play"))
    result = run(str(path), "--test", str(test), "--no-model")
    assert any(line.split()[:2] == ["test", "120"] for line in result.output.splitlines())
    words = arguments_of(result.output[result.output.index("lens select") :])
    assert words[:4] == ["select", str(path), "--test", str(test)]


def test_command_leaves_out_more_words_than_can_be_read(write: Any) -> None:
    labels = [f"l{number:02}" for number in range(21)]
    path = write([(f"text {row}", labels[row % len(labels)]) for row in range(400)])
    assert "--verbalizer" not in write_command(suggest(path), Sources(path))


def test_lookalike_and_rare_labels_are_told(write: Any) -> None:
    rows = [(text, "Good" if row == 4 else label) for row, (text, label) in enumerate(GOOD_AND_BAD)]
    output = shown(write([*rows, ("one", "odd")]), has_model=False)
    lines = [line.split(maxsplit=2) for line in output.splitlines()]
    assert ["Good", "1", "as 'good'"] in [[cell.strip() for cell in line] for line in lines]
    assert ["odd", "1", "too rare, left out"] in [[cell.strip() for cell in line] for line in lines]
    assert "'bad'" not in output
    assert "1 dataset row has another spelling of a label and is read so: 'Good' (1) as 'good'" in output


def test_file_that_is_too_small_is_told_once_for_all_presets(write: Any) -> None:
    output = shown(write(GOOD_AND_BAD[:6]), has_model=False)
    told = [line.split(":")[0] for line in output.splitlines() if "cannot be used" in line]
    assert told == ["quick, standard, paper cannot be used"]
    assert "lens select" not in output


GERMAN = [
    (f"Das Zimmer war {word} und das Personal freundlich, Nacht {row}", word)
    for row in range(60)
    for word in ("sauber", "laut")
]


@pytest.mark.parametrize(("model", "said"), [(BUNDLED_MODEL, "the bundled model is English"), ("m", "choose a model")])
def test_language_of_the_texts_is_said(write: Any, model: str, said: str) -> None:
    output = shown(write(GERMAN), model=model, has_model=False)
    assert f"texts   German, in 100% of the texts; {said}" in output


def test_command_has_the_dialect_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    rows = [("Отзыв", "Kategorie"), *GOOD_AND_BAD]
    path.write_bytes("".join(f"{text}^{label}\n" for text, label in rows).encode("cp1251"))
    result = run(str(path), "--delimiter", "^", "--encoding", "windows-1251", "--no-model")
    words = arguments_of(result.output[result.output.index("lens select") :])
    assert words[2:10] == [
        *("--text-column", "Отзыв", "--label-column", "Kategorie", "--delimiter", "^", "--encoding", "cp1251")
    ]


@pytest.mark.parametrize("template", [DEFAULT_TEMPLATE, *OTHER_TEMPLATES, "it's {text} {label}"])
def test_template_is_one_line_that_a_shell_reads_back(template: str) -> None:
    quoted = quote_template(template)
    assert "\n" not in quoted
    assert arguments_of(f"lens {quoted}") == [template]
