"""What everybody reads of a result: plain words, counts and whole per cent; other figures are for specialists."""

import re
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.result import SelectionResult, Verdict
from lens_engine.show.documents import write_fragment, write_html
from lens_engine.show.report import ResultView
from lens_engine.show.verdict import say_verdict
from tests.unit.lens_engine.show.reported import make_reported

_OLD_WORDS = re.compile(
    r"bag.of.words|random.and.validation|zero.shot|hidden.states|largest.class|permutation|demonstration|InfoScore"
    r"|accuracy|calibrat",
    re.IGNORECASE,
)
_OF_SPECIALISTS = re.compile(r"InfoScore|calibrat", re.IGNORECASE)
_THREE_DECIMALS = re.compile(r"(?<![\d.])[01]\.\d{3}(?!\d)")

_SPECIAL_HTML = re.compile(r"<section [^>]*>\s*<details>.*?</section>", re.DOTALL)
_SPECIAL_TEXT = re.compile(r"^Classifiers compared *$.*?(?:^ *$|\Z)", re.DOTALL | re.MULTILINE)
_MARKUP = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)


def fragment(result: SelectionResult) -> tuple[str, str]:
    return _part_html(write_fragment(*ResultView(result).sections))


def html_report(result: SelectionResult) -> tuple[str, str]:
    return _part_html(write_html(ResultView(result)))


def command(result: SelectionResult) -> tuple[str, str]:
    file = StringIO()
    show_result(result, Console(file=file, width=120))
    return _part_text(file.getvalue())


def summary(result: SelectionResult) -> tuple[str, str]:
    return _part_text(result.summary())


@pytest.mark.parametrize("write", [fragment, html_report, command, summary])
def test_result_is_told_in_plain_words(write: Callable[[SelectionResult], tuple[str, str]]) -> None:
    result = make_reported()
    plain, special = write(make_reported(verdict=Verdict(sentence=say_verdict(result))))

    assert "of 200" in plain
    assert "log-loss" in special
    assert _OLD_WORDS.findall(plain) == []
    assert _THREE_DECIMALS.findall(plain) == []
    assert "log-loss" not in plain
    assert _OLD_WORDS.findall(_OF_SPECIALISTS.sub("", special)) == []


def _part_html(page: str) -> tuple[str, str]:
    """What everybody reads, and the folded sections for specialists."""
    special = "\n".join(_SPECIAL_HTML.findall(page))
    return _MARKUP.sub(" ", _SPECIAL_HTML.sub("", page)), _MARKUP.sub(" ", special)


def _part_text(text: str) -> tuple[str, str]:
    special = "\n".join(_SPECIAL_TEXT.findall(text))
    return _SPECIAL_TEXT.sub("", text), special
