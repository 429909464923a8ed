"""Tables of the engine on a terminal."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from lens_cli.views.table import NARROW, draw_table
from lens_engine.show.figures import tabulate_classifiers, tabulate_prompts
from tests.unit.lens_cli.results import make_result


def drawn(table: Table, width: int = 120) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_tables_fit_and_cut_no_figure(width: int) -> None:
    tables = (tabulate_prompts(make_result()), tabulate_classifiers(make_result()))
    for table in tables:
        assert table is not None
        lines = drawn(draw_table(table, **NARROW), width)
        assert max(map(len, lines)) <= width
        assert not any("…" in line for line in lines)
    assert any(line.split()[-7:] == ["%", "(86–94)", "0.90", "81", "0.500", "0.287", "0.031"] for line in lines)


def test_marked_row_stands_out() -> None:
    table = draw_table(tabulate_prompts(make_result()))
    assert [row.style is not None for row in table.rows] == [True, False, False, False, False]
