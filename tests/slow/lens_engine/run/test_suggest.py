"""A suggestion says what a selection would do, and can be carried out."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lens_engine import estimate_cost, read_examples, resolve_config, suggest
from lens_engine.classifier import bag_of_words
from lens_engine.config import LabelOptions
from lens_engine.errors import InvalidDataset, InvalidVerbalizer
from lens_engine.metering.estimate import measure_pace
from lens_engine.presets import PRESETS
from lens_engine.prompt.template import Task
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE
from lens_engine.rows.dealing import deal_rows
from lens_engine.run.suggest import suggest_for_rows
from lens_engine.testing import TableScorer

PRAISE, BLAME = ("warm", "fine", "sharp", "tender"), ("dull", "flat", "loud", "empty")


def make_rows(number: int = 40, *, good: str = "good", bad: str = "not_good") -> list[tuple[str, str]]:
    return [
        (f"a {words[row % 4]} film, part {row}", label)
        for row in range(number)
        for label, words in ((good, PRAISE), (bad, BLAME))
    ]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_rows(rows: Iterable[tuple[str, str]], header: str = "text,label") -> Path:
        path = tmp_path / "rows.csv"
        path.write_text("\n".join([header, *(f'"{text}","{label}"' for text, label in rows)]))
        return path

    return write_rows


def test_rows_labels_words_and_templates_are_told(write: Any) -> None:
    found = suggest(write([*make_rows(), ("a last one", "good")]))
    assert found.num_rows == 81
    assert [(count.label, count.rows) for count in found.labels] == [("good", 41), ("not_good", 40)]
    assert dict(found.problem.task.verbalizer.words) == {"good": "good", "not_good": "not good"}
    assert found.templates[0] == DEFAULT_TEMPLATE == found.problem.task.template.pattern
    assert len(set(found.templates)) == 3
    assert found.label_options == LabelOptions()


def test_rows_are_those_of_a_selection(write: Any) -> None:
    found = suggest(write(make_rows()))
    assert [plan.preset for plan in found.plans] == list(PRESETS)
    for plan in found.plans:
        rows = deal_rows(found.problem, PRESETS[plan.preset])
        assert plan.counts == {
            "labelled": len(rows.labelled),
            "search": len(rows.search),
            "judging": len(rows.judging),
            "test": len(rows.test),
        }
        assert (plan.warnings, plan.cost, plan.seconds) == (rows.warnings, None, None)


def test_tokens_are_those_of_the_estimate_and_the_pace_is_measured_once(write: Any) -> None:
    scorer = TableScorer()
    found = suggest(write(make_rows()), scorer)
    lone = TableScorer()
    measure_pace(deal_rows(found.problem, PRESETS["quick"]), found.problem.task, lone)
    assert 0 < scorer.num_calls <= lone.num_calls
    for plan in found.plans:
        assert plan.cost == estimate_cost(found.problem, TableScorer(), PRESETS[plan.preset]).total
        assert plan.seconds is not None
        assert plan.seconds > 0
    paces = {round(plan.usual_tokens / plan.seconds) for plan in found.plans if plan.usual_tokens and plan.seconds}
    assert max(paces) - min(paces) <= 1


def test_too_few_rows_are_said_for_each_preset(write: Any) -> None:
    found = suggest(write(make_rows(3)), TableScorer())
    assert [plan.counts for plan in found.plans] == [None, None, None]
    assert all(plan.refusal and plan.cost is None for plan in found.plans)
    assert found.words is None


def test_other_columns_are_read(write: Any) -> None:
    found = suggest(write(make_rows(), header="Review,stars"))
    assert (found.columns.text.name, found.columns.label.name) == ("Review", "stars")
    assert found.problem.task == Task.for_labels(["good", "not_good"], "{text} Stars: {label}.")


def test_bad_row_is_named_in_the_column_of_the_file(write: Any) -> None:
    with pytest.raises(InvalidDataset, match="`Review` holds a NUL") as caught:
        suggest(write([*make_rows(), *[("a\0", "good")] * 10], header="Review,stars"))
    assert caught.value.row == 80


def test_label_words_of_equal_tokens_are_named(write: Any) -> None:
    class FirstWord(TableScorer):
        def score(self, prefixes: Any, queries: Any, label_spans: Any) -> Any:
            return super().score(prefixes, queries, [span.split()[0] for span in label_spans])

    with pytest.raises(InvalidVerbalizer, match="same tokens"):
        suggest(write(make_rows(good="not bad")), FirstWord())


def test_spellings_are_one_label_and_a_rare_label_is_left_out(write: Any) -> None:
    rows = [(text, "Good " if row in (4, 6) else label) for row, (text, label) in enumerate(make_rows())]
    found = suggest(write([*rows, ("one of its kind", "odd")]))
    assert [(one.label, one.rows, one.read_as, one.is_rare) for one in found.labels] == [
        ("not_good", 40, "not_good", False),
        ("good", 38, "good", False),
        ("Good ", 2, "good", False),
        ("odd", 1, "odd", True),
    ]
    assert found.label_options == LabelOptions(rare="drop")
    assert all(plan.counts is not None for plan in found.plans)


def test_labels_that_are_all_rare_are_kept(write: Any) -> None:
    found = suggest(write((f"text {row}", f"l{row}") for row in range(60)))
    assert found.label_options == LabelOptions()
    assert not any(one.is_rare for one in found.labels)


def test_test_rows_follow_the_labels_of_the_examples(write: Any, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    rows = [(f"play {row}", label) for row, label in enumerate(("GOOD", "not_good", "good", "odd") * 3)]
    test.write_text(write(rows).read_text())
    found = suggest(write([*make_rows(), ("one of its kind", "odd"), ("loud again", "Good")]), test=test)
    assert [plan.counts["test"] for plan in found.plans if plan.counts] == [9, 9, 9]


def test_figures_are_those_of_an_estimate_with_the_same_options(write: Any) -> None:
    noisy = [(f"{text} {'good' if row % 3 else 'bad'}", label) for row, (text, label) in enumerate(make_rows())]
    path = write([*((text, "Good" if row == 4 else label) for row, (text, label) in enumerate(noisy)), ("one", "odd")])
    found = suggest(path, TableScorer())

    estimate = estimate_cost(found.problem, TableScorer(), resolve_config("quick", {"labels.rare": "drop"}))

    assert len(found.problem.alternatives) == 11
    assert found.plans[0].cost == estimate.total


def test_advice_from_some_of_the_rows_says_so(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "_MOST_ESTIMATE_SCORES", 40)
    assert " % of 20 of the labelled rows " in str(suggest(write(make_rows())).advice)


def test_rows_are_suggested_for_as_their_file_is(write: Any) -> None:
    path = write([*make_rows(), ("a rare one", "odd")])
    of_file, of_rows = suggest(path), suggest_for_rows(read_examples(path))
    assert of_rows.columns is None
    assert of_rows.labels == of_file.labels
    assert of_rows.label_options.rare == of_file.label_options.rare == "drop"
    assert [plan.counts for plan in of_rows.plans] == [plan.counts for plan in of_file.plans]
    assert {plan.cost for plan in of_rows.plans} == {None}
    assert of_rows.words == of_file.words


def test_only_a_file_of_test_rows_has_any(write: Any) -> None:
    rows = read_examples(write(make_rows()))
    test = read_examples(write(make_rows(20)))
    plain, own = suggest_for_rows(rows).plans[0], suggest_for_rows(rows, test).plans[0]
    assert ((plain.counts or {})["test"], (own.counts or {})["test"]) == (0, 40)
