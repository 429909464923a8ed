"""The classifier of a run: its candidates, the rows they are judged on, and the choice among them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lens_engine.classifier import bag_of_words
from lens_engine.classifier.candidates import WITHOUT_MODEL
from lens_engine.classifier.classifier import Classifier
from lens_engine.model.base import Prefix
from lens_engine.prompt.wording import show_percent
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.show.sentences import describe_choice
from lens_engine.show.ways import list_ways
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import States

Make = Callable[..., Any]
WHOLE: dict[str, Any] = {"classifier": {"kind": "auto", "fit_rows": 80}}


class KnowingScorer(StatesTableScorer):
    """Its states after a prompt tell the mood of a text; those without a prompt, and its label words, tell nothing."""

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        found = super().states(prefix, queries, layers)
        if prefix:
            found[..., 0] += [4.0 if "sunny" in query else -4.0 for query in queries]
        return found


class GreyDayScorer(StatesTableScorer):
    """Its states tell the mood of a grey day, which no word of the text tells."""

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        found = super().states(prefix, queries, layers)
        moods = [4.0 if int(query.split()[0].removeprefix("day")) % 2 else -4.0 for query in queries]
        found[..., 0] += [mood if "grey" in query else 0.0 for mood, query in zip(moods, queries, strict=True)]
        return found


@pytest.fixture(scope="module")
def select(make_planted_problem: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(scorer: TableScorer | None = None, checkpoints: Any = None, **options: Any) -> SelectionResult:
        config = make_config(**{**WHOLE, **options})
        return select_support_examples(
            make_planted_problem(), scorer or KnowingScorer(), config, checkpoints=checkpoints
        )

    return run


@pytest.fixture(scope="module")
def whole(select: Make) -> SelectionResult:
    return select()


def names(result: SelectionResult) -> list[tuple[str, int, int]]:
    return [(one.name, one.prompts, one.demonstrations) for one in result.tested]


def test_every_candidate_is_tested_the_cheapest_first(whole: SelectionResult) -> None:
    assert names(whole)[0] == ("bag_of_words", 0, 0)
    assert sorted(names(whole)) == sorted(
        [
            ("bag_of_words", 0, 0),
            ("states", 1, 0),
            ("states_and_words", 1, 0),
            ("states", 1, 4),
            ("states_and_words", 1, 4),
        ]
    )
    assert {one.test for one in whole.tested} == {None}
    judged = {one.name: one.cross_validated.n for one in whole.tested}
    assert judged == {"bag_of_words": 120, "states": 80, "states_and_words": 80}, "judging and search rows, if fitted"
    assert [one.tokens_per_input for one in whole.tested] == sorted(one.tokens_per_input for one in whole.tested)


def test_states_are_read_after_the_best_set(whole: SelectionResult) -> None:
    (shown,) = {one.rows for one in whole.contenders if one.kind == "classifier" and one.rows}
    judged = {one.name: one for one in whole.contenders if one.use == "prompt" and not one.is_dropped and one.judged}
    best = max(
        (one for one in judged.values() if len(one.rows) == 4), key=lambda one: one.judged and one.judged.accuracy
    )
    assert shown == best.rows != judged["random 1"].rows


def test_bag_of_words_of_some_rows_says_so(
    whole: SelectionResult, select: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    available = next(one.fit_rows for one in whole.tested if one.name == "bag_of_words")
    monkeypatch.setattr(bag_of_words, "_MOST_SCORES", 200)

    result = select(classifier={"kind": "bag_of_words", "fit_rows": 80})

    (tested,) = result.tested
    assert (tested.fit_rows, tested.cross_validated.n) == (100, 120)
    told = f"word counting was fitted on 100 of {available} labelled rows, because there are many labels"
    assert told in result.warnings
    assert not any("word counting was fitted on" in one for one in whole.warnings)


def test_states_that_know_are_chosen_and_predict_from_the_file(select: Make) -> None:
    result = select(classifier={"kind": "states", "fit_rows": 80})

    (chosen,) = (one for one in result.tested if one.is_chosen)
    assert result.classifier is not None
    assert (chosen.demonstrations, chosen.cross_validated) == (4, result.classifier.quality)
    assert result.verdict.sentence.startswith("Use the classifier. Expect 94 to 100 of 100 new texts right")
    again = Classifier.model_validate_json(result.classifier.model_dump_json())
    assert again.predict(["a sunny day", "a rainy day"], KnowingScorer()).labels == ("positive", "negative")


@pytest.mark.parametrize(
    ("kind", "scorer", "name"),
    [
        ("bag_of_words", KnowingScorer(), "bag_of_words"),
        ("states", KnowingScorer(), "states"),
        ("auto", GreyDayScorer(), "states_and_words"),
        ("label_probabilities", TableScorer(), "label_probabilities"),
    ],
)
def test_classifier_that_the_sentences_name_is_the_one_that_is_saved(
    kind: str, scorer: TableScorer, name: str, make_planted_problem: Make, make_config: Make, tmp_path: Path
) -> None:
    config = make_config(**{**WHOLE, "classifier": {"kind": kind, "fit_rows": 80, "embeddings": "auto"}})
    planted = make_planted_problem(count=300)
    examples = planted.examples
    if name == "states_and_words":
        examples = [
            replace(one, text=re.sub("sunny|rainy", "grey", one.text)) if one.row % 4 < 2 else one for one in examples
        ]
    test = [replace(one, row=row) for row, one in enumerate(examples[240:])]
    result = select_support_examples(Problem(planted.task, examples[:240], test), scorer, config)

    assert result.classifier is not None
    result.classifier.save(tmp_path / "classifier.json")
    loaded = Classifier.load(tmp_path / "classifier.json")
    predicted = loaded.predict([one.text for one in test], scorer).labels
    right = sum(one.label == label for one, label in zip(test, predicted, strict=True))
    (chosen,) = (one for one in result.tested if one.is_chosen)
    assert chosen.name == name
    assert chosen.test is not None
    assert chosen.test == result.classifier.quality
    assert round(chosen.test.accuracy * len(test)) == right
    told = describe_choice(result)
    assert f"({right} of {len(test)} test texts)" in told or f"of the model {show_percent(right / len(test))}" in told
    if kind == "auto":  # what asks no model is asked for the test rows too, and compared
        assert {one.name for one in result.tested if one.test} == {name, *WITHOUT_MODEL}
        assert result.classifier_estimate is not None
        assert "embeddings" in {one.rival for one in result.classifier_estimate.beats}
        assert {"counting words", "sentence embeddings"} <= {way.name for way in list_ways(result)}


def test_flipped_labels_are_found_among_cross_validated_rows(make_planted_problem: Make, make_config: Make) -> None:
    problem = make_planted_problem()
    other = dict(zip(problem.task.labels, reversed(problem.task.labels), strict=True))
    examples = [replace(one, label=other[one.label]) if one.row % 20 == 7 else one for one in problem.examples]
    flipped = {one.row for one in examples if one.row % 20 == 7}

    result = select_support_examples(Problem(problem.task, examples), KnowingScorer(), make_config(**WHOLE))

    found = {one.row for one in result.suspicious_labels}
    assert found
    assert found <= flipped
    assert all(one.probability < one.probability_of_likelier for one in result.suspicious_labels)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("none", set()),
        ("bag_of_words", {"bag_of_words"}),
        ("states", {"states"}),
        ("label_probabilities", {"label_probabilities"}),
    ],
)
def test_only_the_candidates_asked_for_are_made(kind: str, expected: set[str], select: Make) -> None:
    result = select(classifier={"kind": kind, "fit_rows": 60})

    assert {one.name for one in result.tested} == expected
    assert (result.classifier is None) == (not expected)


def test_model_that_one_can_only_ask_has_label_probabilities(select: Make) -> None:
    for kind in ("auto", "states"):
        result = select(TableScorer(), classifier={"kind": kind, "fit_rows": 60})
        assert {one.name for one in result.tested} - {"bag_of_words"} == {"label_probabilities"}


def test_resuming_anywhere_gives_the_same_classifier(whole: SelectionResult, select: Make, make_store: Make) -> None:
    store = make_store()
    assert select(checkpoints=store).digest == whole.digest
    for data in store.saved[-5::4]:
        resumed = select(checkpoints=make_store(data))
        assert resumed.digest == whole.digest
        assert resumed.model_dump(exclude={"cost"}) == whole.model_dump(exclude={"cost"})


def test_budget_leaves_out_the_dearest_candidates_first(select: Make) -> None:
    rows = {"search": 0, "judging": 100}
    result = select(rows=rows, budget={"max_pairs": select(rows=rows).cost.pairs - 50})

    assert result.partial
    assert {one.name for one in result.tested} == {"bag_of_words", "states", "states_and_words"}
    assert any("the classifier of the model after examples" in warning for warning in result.warnings)
