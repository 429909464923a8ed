import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from experiments.scales import LAPTOP
from lens_cli.experiment.options import Given, read_given, read_overlay, read_variants, split_words, taking_given
from lens_cli.refusals import Refusal
from lens_engine.errors import InvalidConfig


def test_scale_without_options_is_the_preset() -> None:
    assert read_given(preset="laptop").scale() == LAPTOP


def test_options_override_the_preset() -> None:
    given = read_given(
        model="other",
        datasets=["trec,sst-2", "trec"],
        seeds=["3,4"],
        templates=["0", "1"],
        option=["search.iterations=2", "filtering.contribution=vocabulary"],
        dtype="float32",
    )
    scale = given.scale()
    assert (scale.model, scale.datasets, scale.seeds, scale.templates) == ("other", ("trec", "sst-2"), (3, 4), (0, 1))
    assert scale.options["search"] == {**LAPTOP.options["search"], "iterations": 2}
    assert scale.options["filtering"]["contribution"] == "vocabulary"
    assert (scale.options["splits"], scale.dtype) == (LAPTOP.options["splits"], "float32")


def test_default_store_is_in_the_output_folder() -> None:
    assert read_given(output=Path("there")).store == Path("there/store")
    assert read_given(output=Path("there"), store=Path("elsewhere")).store == Path("elsewhere")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"preset": "desktop"}, "preset"),
        ({"option": ["search.iterations"]}, "options"),
        ({"option": ["=2"]}, "options"),
    ],
)
def test_bad_option_is_refused_with_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_given(**given).scale()
    assert refused.value.field == field


@pytest.mark.parametrize("words", ["a", "-1", "0,x", "1.5"])
def test_seed_that_is_not_a_number_is_refused(words: str) -> None:
    with pytest.raises(InvalidConfig, match="not a whole number"):
        read_given(seeds=[words])


def test_variants_are_read_into_options_by_name() -> None:
    words = ["wide, wider:search.beam_width=16", "a: b:filtering.contribution=loss_ratio,balanced=false"]
    assert read_variants(words) == {
        "wide, wider": {"search": {"beam_width": 16}},
        "a: b": {"filtering": {"contribution": "loss_ratio"}, "balanced": False},
    }


@pytest.mark.parametrize("words", [["x"], [":search.beam_width=1"], ["x:search"], ["x:a=1", "x:a=2"]])
def test_bad_variant_is_refused(words: list[str]) -> None:
    with pytest.raises(InvalidConfig):
        read_variants(words)


def test_option_values_are_json_or_words() -> None:
    options = ["a=null", "b.c=1.5", "b.d=true", "e=great", " f.g = 2"]
    assert read_overlay([option.replace(" = ", "=") for option in options]) == {
        "a": None,
        "b": {"c": 1.5, "d": True},
        "e": "great",
        "f": {"g": 2},
    }


def test_words_are_split_at_commas() -> None:
    assert split_words(["a, b", "c,,a"]) == ("a", "b", "c")


def test_command_has_the_common_options_and_its_own() -> None:
    seen = list[tuple[Given, int]]()

    def command(given: Given, more: Annotated[int, typer.Option(help="Its own.")] = 3) -> None:
        seen.append((given, more))

    application = typer.Typer()
    application.command()(taking_given(command))
    result = CliRunner().invoke(application, ["--seeds", "5", "--more", "4", "--output", "there"])
    assert result.exit_code == 0, result.output
    ((given, more),) = seen
    assert (given.seeds, given.output, more) == ((5,), Path("there"), 4)
    names = inspect.signature(taking_given(command)).parameters
    assert list(names) == [*inspect.signature(read_given).parameters, "more"]


def test_bad_common_option_becomes_a_refusal() -> None:
    def command(given: Given) -> None:
        raise AssertionError(given)

    with pytest.raises(Refusal, match="not a whole number"):
        taking_given(command)(seeds=["a"], **_defaults("seeds"))


def _defaults(*but: str) -> dict[str, Any]:
    parameters = inspect.signature(read_given).parameters
    return {name: one.default for name, one in parameters.items() if name not in but}
