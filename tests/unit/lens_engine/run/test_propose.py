from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.metering.meter import Meter
from lens_engine.method.setup import Findings, Setup
from lens_engine.prompt.template import Task, Template
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import prepare_run
from lens_engine.run.propose import Proposal, propose
from lens_engine.testing import TableScorer

Make = Callable[..., Any]
ALL = {"search": {"forms": ("fixed", "nearest", "fixed+nearest"), "sets": 16}}


@pytest.fixture(scope="module")
def set_up(
    make_task: Callable[..., Task], make_examples: Make, make_config: Make
) -> Callable[..., tuple[Setup, Meter]]:
    """A setup with `wordings` wordings, and its meter."""

    def run(counts: dict[str, int], wordings: int = 1, context: int = 2048, **options: Any) -> tuple[Setup, Meter]:
        task, examples = make_task(*counts), make_examples(counts)
        others = [Task(Template(f"{{text}} {number} {{label}}"), task.verbalizer) for number in range(1, wordings)]
        problem = Problem(task, examples, alternatives=others)
        prepared = prepare_run(problem, TableScorer(max_prompt_tokens=context), make_config(**(ALL | options)))
        return prepared.setup, prepared.meter

    return run


def check(setup: Setup, proposals: tuple[Proposal, ...]) -> None:
    """What holds of all proposals."""
    assert len({one.name for one in proposals}) == len(proposals)
    allowed, held = set(setup.rows.proposable), Counter(one.label for one in setup.rows.proposable)
    for one in proposals:
        shown = Counter(example.label for example in one.rows)
        assert len(set(one.rows)) == len(one.rows)
        if one.method == "many":
            assert not set(one.rows) & set(setup.rows.judging if setup.rows.search else ())
            assert setup.rows.search or all(shown[label] <= max(held[label] // 2, 1) for label in shown)
        elif one.rows:
            assert set(one.rows) <= allowed
            assert shown == setup.rows.quotas.by_label
            assert all(shown[label] <= max(held[label] // 2, 1) for label in shown)


@pytest.mark.parametrize(
    ("counts", "sets"),
    [
        ({"a": 2, "b": 8}, {"random": 8, "spread": 8}),
        ({"a": 30, "b": 30, "c": 20}, {"random": 8, "spread": 8}),
        ({"a": 200, "b": 40}, {"random": 4, "lens": 2}),
    ],
)
def test_sets_are_balanced_and_leave_half_the_rows(counts: dict[str, int], sets: dict[str, int], set_up: Make) -> None:
    setup, meter = set_up(counts)
    by_label = {label: [at for at, one in enumerate(setup.rows.search) if one.label == label] for label in counts}
    finalists = tuple((*by_label["a"][at : at + 2], *by_label["b"][at : at + 2]) for at in (0, 2))
    proposals = propose(setup, Findings(finalists=finalists if setup.rows.search else ()), meter)
    check(setup, proposals)
    methods = Counter(one.method for one in proposals if one.form.kind == "fixed")
    for method, number in sets.items():
        assert number / 2 <= methods[method] <= number  # a set that was drawn before is left out
    assert methods["zero_shot"] == 1
    assert "no examples" in {one.name for one in proposals}
    numbers = [one.form.nearest for one in proposals if one.form.kind == "nearest"]
    assert numbers == [k for k in ((4, 8) if setup.rows.search else (4, 8, 16)) if k < sum(counts.values())]


@pytest.mark.parametrize("forms", [("fixed",), ("nearest",), ("fixed+nearest",), ("fixed", "nearest")])
def test_only_the_forms_of_the_option_are_tried(forms: tuple[str, ...], set_up: Make) -> None:
    setup, meter = set_up({"a": 40, "b": 40}, search={"forms": forms})
    proposals = propose(setup, Findings(), meter)
    check(setup, proposals)
    assert {one.form.kind for one in proposals if one.num_demonstrations} == set(forms)
    assert sum(one.method == "zero_shot" for one in proposals) == 1


def test_wordings_are_tried_in_turn(set_up: Make) -> None:
    setup, meter = set_up({"a": 100, "b": 100}, wordings=3, search={**ALL["search"], "sets": 24})
    proposals = propose(setup, Findings(finalists=((0, 1, 2, 3), (3, 2, 1, 0))), meter)
    check(setup, proposals)
    fixed = [one for one in proposals if one.form.kind == "fixed"]
    places = {name: [one.wording for one in fixed if one.method == name] for name in ("zero_shot", "random", "lens")}
    assert places == {"zero_shot": [0, 1, 2], "random": [0, 1, 2, 0, 1, 2], "lens": [0, 1, 2, 0]}
    nearest = [(one.form.nearest, one.wording) for one in proposals if one.form.kind == "nearest"]
    assert nearest == [(4, 0), (8, 0), (8, 1), (8, 2)]


@pytest.mark.parametrize(
    ("counts", "context", "sizes"),
    [
        ({"a": 30, "b": 30}, 2048, []),
        ({"a": 40, "b": 30}, 2048, [32]),
        ({"a": 49, "b": 50}, 2048, [32]),
        ({"a": 49, "b": 50}, 100, []),  # a demonstration has five words
        ({"a": 300, "b": 30}, 2048, [32, 64]),
        ({"a": 300, "b": 30}, 200, [32]),
    ],
)
def test_large_sets_are_tried_if_they_fit(counts: dict[str, int], context: int, sizes: list[int], set_up: Make) -> None:
    setup, meter = set_up(counts, context=context, rows={"search": 60, "judging": 150})
    proposals = propose(setup, Findings(), meter)
    check(setup, proposals)
    large = [one for one in proposals if one.method == "many" and one.form.kind == "fixed"]
    assert [len(one.rows) for one in large] == sizes
    for one in large:
        if counts["a"] == counts["b"]:
            assert set(Counter(example.label for example in one.rows).values()) == {len(one.rows) // 2}
