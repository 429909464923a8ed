"""Plots that can be read without the text: what is on them, and that they are the same each time."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.findings.finding import Finding, Plot
from experiments.findings.writing import write
from experiments.plots.strips import RANDOM, SUPPORT, Group, Panel, plot_strips

STRIPS = plot_strips(
    "Which is better?",
    [
        Panel("reviews", "set", (Group("seed 0", SUPPORT, (0.7, 0.8, 0.9)), Group("seed 1", RANDOM, (0.5, 0.6)))),
        Panel("news", "set", (Group("seed 0", SUPPORT, (0.75,)), Group("seed 0", "another kind", (0.4, 0.4)))),
    ],
    "accuracy on 20 test rows",
)


def draw(plot: Plot, folder: Path) -> str:
    write(Finding("picture", "A picture", (), (plot,)), folder)
    return (folder / "picture.svg").read_text()


def test_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    assert draw(STRIPS, tmp_path / "one") == draw(STRIPS, tmp_path / "two")


def test_strips_say_what_they_show(tmp_path: Path) -> None:
    svg = draw(STRIPS, tmp_path)

    for text in ("Which is better?", "accuracy on 20 test rows", "reviews", "news", "set", "seed 1"):
        assert f">{text}<" in svg
    for entry in (SUPPORT, RANDOM, "another kind", "mean", "one standard deviation"):
        assert svg.count(f">{entry}<") == 1  # one legend for both panels


def test_strips_show_every_accuracy_in_a_place_of_its_own() -> None:
    figure = Figure()
    plot_strips("?", [Panel("", "", (Group("a", SUPPORT, (0.5, 0.6, 0.6, 0.6)),))], "accuracy").draw(figure)

    (dots,) = [line for line in figure.axes[0].lines if line.get_label() == SUPPORT]
    assert list(dots.get_ydata()) == [0.5, 0.6, 0.6, 0.6]
    assert len(set(dots.get_xdata())) == 4


def test_bar_is_at_the_mean_and_whiskers_are_one_sd_long() -> None:
    figure = Figure()
    plot_strips("?", [Panel("", "", (Group("a", SUPPORT, (0.5, 0.6, 0.7)),))], "accuracy").draw(figure)

    heights = [segment[:, 1].tolist() for bars in figure.axes[0].collections for segment in bars.get_segments()]
    assert pytest.approx([0.6, 0.6]) in heights  # the bar
    assert pytest.approx([0.5, 0.7]) in heights  # the whiskers


def test_strips_in_words_give_the_means() -> None:
    assert STRIPS.alternative == (
        "Which is better? Mean accuracies. "
        "reviews: seed 0 0.800, seed 1 0.550; news: seed 0 (support examples) 0.750, seed 0 (another kind) 0.400."
    )


def test_single_accuracy_has_no_whiskers(tmp_path: Path) -> None:
    plot = plot_strips("?", [Panel("", "", (Group("a", SUPPORT, (0.5,)),))], "accuracy")

    assert "one standard deviation" not in draw(plot, tmp_path)


def test_long_names_are_broken_at_spaces_and_hyphens() -> None:
    figure = Figure()
    groups = (Group("smollm2-135m-instruct (found with it)", SUPPORT, (0.5,)), Group("gpt2", SUPPORT, (0.6,)))
    plot_strips("?", [Panel("", "", groups)], "accuracy").draw(figure)

    long, short = (label.get_text() for label in figure.axes[0].get_xticklabels())
    assert short == "gpt2"
    assert long.splitlines() == ["smollm2-", "135m-", "instruct", "(found with", "it)"]


def test_many_groups_make_a_wider_picture() -> None:
    groups = tuple(Group(f"seed {seed}", SUPPORT, (0.5,)) for seed in range(20))

    assert plot_strips("?", [Panel("", "", groups)], "").size[0] > STRIPS.size[0]
