"""Groups of options become options of their own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.file_options import takes_groups


@dataclass(frozen=True)
class Wanted:
    into: Annotated[Path, typer.Option(rich_help_panel="Files")]
    how_often: Annotated[int, typer.Option(min=1)] = 2
    word: Annotated[list[str] | None, typer.Option()] = None


@pytest.fixture
def application() -> typer.Typer:
    application = typer.Typer()

    @application.command()
    @takes_groups
    def write(name: str, wanted: Wanted, quiet: Annotated[bool, typer.Option("--quiet")] = False) -> None:
        """Write a name."""
        typer.echo((name, wanted, quiet))

    return application


def test_group_is_made_of_its_options(application: typer.Typer) -> None:
    shown = CliRunner().invoke(application, ["x", "--into", "f", "--word", "a", "--word", "b", "--quiet"])
    assert shown.output.strip() == str(("x", Wanted(Path("f"), 2, ["a", "b"]), True))


@pytest.mark.parametrize("words", [["x"], ["--into", "f"], ["x", "--into", "f", "--how-often", "0"]])
def test_required_and_wrong_options_are_refused(application: typer.Typer, words: list[str]) -> None:
    assert CliRunner().invoke(application, words).exit_code == 2


def test_help_of_select_begins_with_what_people_need() -> None:
    shown = CliRunner().invoke(create_application(), ["select", "--help"], env={"COLUMNS": "200"}).output
    first = shown.partition("─ Options")[2].partition("╰")[0]
    flags = [line.split()[1] for line in first.splitlines() if line.startswith("│ --")]
    assert flags == ["--template", "--verbalizer", "--preset", "--output", "--classifier", "--verbose", "--help"]
