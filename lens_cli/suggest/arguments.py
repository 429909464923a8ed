"""The arguments of `lens select` that carry out a suggestion."""

import shlex

from lens_cli.asked_model import ChosenModel
from lens_cli.select.sources import Sources
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.reading.table import LABEL, TEXT, list_columns
from lens_engine.suggestion.suggestion import Suggestion
from lens_engine.task.silent_words import find_silent

_MAX_WORDS = 20
"""Largest number of label words in the command. Without them, each label is its own word all the same, also a rare one
that the selection leaves out. Words that say nothing are not proposed: a person gives others."""

_BUNDLED = ChosenModel(BUNDLED_MODEL)

_CONTINUED = " \\\n  "


def write_command(suggestion: Suggestion, sources: Sources, model: ChosenModel = _BUNDLED) -> str:
    """The complete command, quoted for a shell, with a line for each group of arguments."""
    train, columns = ["lens", "select", str(sources.train)], list[str]()
    words, found = suggestion.problem.task.verbalizer.words, suggestion.columns
    assert found is not None  # of a file
    if sources.test is not None:
        train += ["--test", str(sources.test)]
    assert found.label is not None
    if found.text.wanted != TEXT and found.text.is_told:
        columns += [word for name in list_columns(found.text.wanted) for word in ("--text-column", name)]
    if found.label.wanted != LABEL and found.label.is_told and isinstance(found.label.wanted, str):
        columns += ["--label-column", found.label.wanted]
    if sources.dialect.delimiter is not None:
        columns += ["--delimiter", sources.dialect.delimiter.replace("\t", "tab")]
    if sources.dialect.encoding is not None:
        columns += ["--encoding", sources.dialect.encoding]
    lines = list[list[str]]()
    has_rare = any(count.is_rare for count in suggestion.labels)
    if not has_rare and len(words) <= _MAX_WORDS and not find_silent(suggestion.problem.task.verbalizer):
        lines += [["--verbalizer", f"{label}={word}"] for label, word in words.items()]
    if suggestion.label_options.rare == "drop":
        lines.append(["--option", "labels.rare=drop"])
    if 10 * suggestion.num_unlabelled > suggestion.num_rows:
        lines.append(["--option", "rows.unlabelled=skip"])
    if model != _BUNDLED:
        lines.append(model.list_arguments())
    lines.append(
        ["--preset", suggestion.preset or "quick", "--output", "result.json", "--classifier", "classifier.json"]
    )
    wordings = [f"--template {quote_template(one)}" for one in suggestion.templates]
    wordings += [f"--instruction {quote_template(one)}" for one in ("", *suggestion.instructions)]
    head, tail = ([shlex.join(line) for line in part if line] for part in ([train, columns], lines))
    return _CONTINUED.join([*head, *wordings, *tail])


def quote_template(template: str) -> str:
    """The template or instruction as an argument for bash or zsh, on one line."""
    return f"${template!r}" if "\n" in template else shlex.quote(template)
