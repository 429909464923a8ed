"""Results, estimates and tables on a terminal: nothing is cut, and no text of a user is markup."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from lens_cli.views.result import NARROW, draw_table, show_result, show_summary
from lens_engine.result import Spending
from lens_engine.show.sentences import describe_choice
from lens_engine.show.tables import tabulate_contenders
from lens_engine.show.ways import list_ways
from tests.unit.lens_cli.results import VERDICT, make_result


def shown(show: Callable[..., None], value: Any, width: int = 120, **more: Any) -> str:
    file = StringIO()
    show(value, console=Console(file=file, width=width), **more)
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_tables_fit_and_cut_no_figure(width: int) -> None:
    table, file = tabulate_contenders(make_result()), StringIO()
    assert table is not None
    Console(file=file, width=width).print(draw_table(table, **NARROW))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    assert any(line.split()[-7:] == ["(74–85)", "200", "91", "%", "(86–94)", "41", "650"] for line in lines)


def test_marked_row_stands_out() -> None:
    table = tabulate_contenders(make_result())
    assert table is not None
    assert [row.style is not None for row in draw_table(table).rows] == [True, True, True, False, False, False]


def test_markup_in_texts_is_shown_literally() -> None:
    assert "[red]loved[/red] it" in shown(show_result, make_result())


def test_result_shows_choice_cost_digest_and_warnings() -> None:
    result = make_result()
    text = " ".join(shown(show_result, result).split())
    for sentence in (
        describe_choice(result),
        "Took 5 min 12 s with smollm2 (float32, cpu, seed 3): 25,541 pairs, 714,216 tokens, 68 sets of examples.",
        "digest feed",
        "note: 2 duplicates were dropped",
    ):
        assert sentence in text
    assert describe_choice(result).startswith(VERDICT.sentence)


def test_summary_fits_a_screen_with_what_to_use_first() -> None:
    lines = shown(show_summary, make_result(warnings=tuple(map(str, range(9))))).splitlines()

    assert len(lines) <= 25
    assert lines[0] == VERDICT.sentence
    assert [line.split("  ")[0] for line in lines if "%  █" in line] == [
        *("classifier of the model", "prompt, 1 fixed example", "prompt, 1 fixed example, corrected", "counting words")
    ]
    assert [line for line in lines if line.startswith("note:")] == ["note: 0", "note: 1", "note: 2"]
    assert "6 more notes with --verbose" in lines


def test_summary_marks_what_to_use() -> None:
    assert [way.name for way in list_ways(make_result()) if way.is_first] == ["classifier of the model"]
    assert [way.name for way in list_ways(make_result(first="prompt")) if way.is_first] == ["prompt, 1 fixed example"]


def test_cached_pairs_are_shown_separately() -> None:
    cost = Spending(pairs=2000, tokens=9, seconds=1.0, permutations_judged=1, pairs_from_cache=1234)
    assert "2,000 pairs (1,234 from the pair cache), 9 tokens" in shown(show_result, make_result(cost=cost))


def test_warning_that_was_shown_before_is_not_repeated() -> None:
    result = make_result()
    assert "note:" not in shown(show_result, result, shown=result.warnings)
