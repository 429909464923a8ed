"""LensClassifier: texts in, classes out, in the ways of scikit-learn."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lens_engine import LanguageModel, LensClassifier
from lens_engine.errors import ClassTooSmall, InvalidInput, InvalidTemplate, InvalidVerbalizer, ModelMismatch
from lens_engine.testing import StatesTableScorer, TableScorer

SMALL = {"num_demonstrations": 1, "search": {"sets": 2, "forms": ["fixed"]}}

TEXTS = [f"day {row} {'sunny and warm' if row % 2 else 'rainy and cold'}" for row in range(48)]
CLASSES = ["good" if row % 2 else "bad" for row in range(48)]

Make = Callable[..., LensClassifier]


@pytest.fixture
def make() -> Make:
    """An estimator over a double, with options small enough for a fit of a quarter of a second."""

    def build(**given: Any) -> LensClassifier:
        usual = {"model": LanguageModel(TableScorer()), "options": SMALL, "progress": False}
        return LensClassifier(**(usual | given))

    return build


@pytest.mark.parametrize("hold", [list, tuple, np.array, pandas.Series, lambda texts: np.array(texts, dtype=object)])
def test_texts_and_classes_of_any_sequence_are_fitted(hold: Any, make: Make) -> None:
    estimator = make().fit(hold(TEXTS), hold(CLASSES))
    assert estimator.predict(hold(TEXTS)).tolist() == CLASSES
    assert estimator.score(hold(TEXTS), hold(CLASSES)) == 1.0


@pytest.mark.parametrize(
    ("bad", "good"), [("bad", "good"), (0, 1), (-3, 12), (False, True), ("not_good", "good")], ids=str
)
def test_classes_keep_values_and_type(bad: Any, good: Any, make: Make) -> None:
    y = np.array([good if one == "good" else bad for one in CLASSES])

    estimator = make().fit(TEXTS, y)

    assert estimator.classes_.tolist() == sorted([bad, good])
    assert estimator.classes_.dtype == y.dtype == estimator.predict(TEXTS).dtype
    assert (estimator.predict(TEXTS) == y).all()


def test_probabilities_are_in_the_order_of_the_classes(make: Make) -> None:
    estimator = make().fit(TEXTS, CLASSES)
    found = estimator.predict_proba(TEXTS)
    assert found.shape == (48, 2)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert estimator.classes_[found.argmax(axis=1)].tolist() == CLASSES


def test_fit_chooses_among_templates_and_instructions(make: Make) -> None:
    wordings = {"template": ["{text} {label}", "{text}: {label}"], "instruction": ["", "Warm?"]}
    estimator = clone(make(**wordings)).fit(TEXTS, CLASSES)
    tried = [(one.template, one.instruction) for one in estimator.result_.wordings]
    task = estimator.result_.task
    assert len(tried) == 4
    assert (task.template, task.instruction) in tried
    assert make(template=["{text} {label}"]).fit(TEXTS, CLASSES).result_.wordings == ()


def test_faulty_template_among_several_is_named(make: Make) -> None:
    with pytest.raises(InvalidTemplate, match="template 2 of 2: the template has no") as caught:
        make(template=["{text} {label}", "{text}"]).fit(TEXTS, CLASSES)
    assert caught.value.field == "template.1"


def test_class_left_out_as_too_rare_has_no_probability(make: Make) -> None:
    y = ["alone", *CLASSES[1:]]
    with pytest.raises(ClassTooSmall):
        make().fit(TEXTS, y)

    estimator = make(options={**SMALL, "labels.rare": "drop"}).fit(TEXTS, y)

    assert estimator.classes_.tolist() == ["alone", "bad", "good"]
    assert set(estimator.predict_proba(TEXTS)[:, 0]) == {0.0}
    assert set(estimator.predict(TEXTS)) == {"bad", "good"}


@pytest.mark.parametrize("num_classes", [2, 5])
def test_ten_rows_and_two_of_each_class_are_enough_and_none_is_held_out(num_classes: int, make: Make) -> None:
    result = make().fit([f"row word{row % num_classes}" + "x" * row for row in range(10)], np.arange(10) % num_classes)
    assert (result.result_.counts.judging, result.result_.counts.test) == (10, 0)
    assert result.result_.classifier_estimate is not None


def test_label_words_and_template_make_the_task(make: Make) -> None:
    words = {True: "great", False: "terrible", "other": "unused"}
    estimator = make(template="{text} It was {label}.", label_words=words)
    task = estimator.fit(TEXTS, [one == "good" for one in CLASSES]).result_.task
    assert task is not None
    assert task.template == "{text} It was {label}."
    assert {one.label: one.word for one in task.label_words} == {"False": "terrible", "True": "great"}
    with pytest.raises(InvalidVerbalizer, match="class 'bad' has no label word"):
        make(label_words={"good": "great"}).fit(TEXTS, CLASSES)


def test_seed_is_that_of_random_state_or_of_the_options(make: Make) -> None:
    def seed_of(random_state: Any = None, **more: int) -> int:
        options = {**SMALL, "classifier.kind": "label_probabilities", **more}
        return make(options=options, random_state=random_state).fit(TEXTS, CLASSES).result_.provenance.seed

    assert seed_of() == 0
    assert seed_of(random_state=7) == 7
    assert seed_of(seed=5) == 5
    assert seed_of(random_state=np.random.RandomState(1)) == seed_of(random_state=np.random.RandomState(1)) != 0


@pytest.mark.parametrize(
    ("X", "y", "kind", "message"),
    [
        ("one text", ["a"], TypeError, "X is a single string"),
        ([*TEXTS[:-1], None], CLASSES, TypeError, "X[47] is of type NoneType"),
        (np.array([TEXTS]).T, CLASSES, ValueError, "X has the shape (48, 1); give one column of texts"),
        (pandas.DataFrame({"text": TEXTS}), CLASSES, ValueError, "X has the shape (48, 1)"),
        (["", *TEXTS[1:]], CLASSES, ValueError, "X[0] is empty"),
        (TEXTS, CLASSES[1:], ValueError, "inconsistent numbers of samples: [48, 47]"),
        (TEXTS, [None, *CLASSES[1:]], ValueError, "y[0] is None; give a class"),
        (TEXTS, [*CLASSES[1:], float("nan")], ValueError, "y[47] is nan; give a class"),
        (TEXTS, np.linspace(0, 1, 48), ValueError, "Unknown label type"),
        (TEXTS, ["good"] * 48, ValueError, "y has 1 class; a classifier needs at least two"),
        (TEXTS[:6], CLASSES[:6], ValueError, "the dataset has 6 usable rows; the least is 10"),
    ],
)
def test_wrong_rows_are_refused(X: Any, y: Any, kind: type[Exception], message: str, make: Make) -> None:  # noqa: N803
    if isinstance(y, list) and y[-1] != y[-1]:
        y = np.array(y, dtype=object)
    with pytest.raises(kind, match=re.escape(message)):
        make().fit(X, y)


def test_options_without_a_classifier_are_refused(make: Make) -> None:
    with pytest.raises(InvalidInput, match="the run made no classifier"):
        make(options={**SMALL, "classifier.kind": "none"}).fit(TEXTS, CLASSES)
    with pytest.raises(InvalidInput, match="beam_widht"):
        make(options={"search.beam_widht": 3}).fit(TEXTS, CLASSES)


def test_model_is_asked_only_if_the_classifier_has_prompts(make: Make) -> None:
    by_words = make(options={**SMALL, "classifier.kind": "bag_of_words"}).fit(TEXTS, CLASSES)
    assert by_words.set_params(model="missing").predict(TEXTS).tolist() == CLASSES
    by_states = make(model=LanguageModel(StatesTableScorer()), options={**SMALL, "classifier.kind": "states"}).fit(
        TEXTS, CLASSES
    )
    assert by_states.classifier_.prompts
    assert set(by_states.predict(TEXTS)) <= {"bad", "good"}

    class Other(StatesTableScorer):
        @property
        def identity(self) -> Any:
            return type(super().identity)("other", "1" * 64, "float32", "cpu", "plain")

    with pytest.raises(ModelMismatch, match="the model is other"):
        by_states.set_params(model=Other()).predict(TEXTS)


def test_without_a_fit_nothing_is_predicted(make: Make) -> None:
    refused = make()
    with pytest.raises(InvalidInput):
        refused.fit(TEXTS[:4], CLASSES[:4])
    for estimator in (make(), refused):
        for act in (estimator.predict, estimator.predict_proba):
            with pytest.raises(NotFittedError):
                act(TEXTS)


def test_clone_shares_the_model_and_forgets_the_fit(make: Make) -> None:
    estimator = make(random_state=3).fit(TEXTS, CLASSES)
    copied = clone(estimator)
    assert copied.model is estimator.model
    assert copied.get_params() == estimator.get_params()
    assert not hasattr(copied, "classifier_")


def test_cross_validation_in_a_pipeline_measures_rows_that_no_fit_saw(make: Make) -> None:
    pipeline = make_pipeline(FunctionTransformer(lambda texts: [text.upper() for text in texts]), make())
    first, second = (cross_val_score(pipeline, TEXTS, CLASSES, cv=2, error_score="raise") for _ in range(2))
    assert first.tolist() == second.tolist() == [1.0, 1.0]


def test_grid_search_tries_templates_and_models(make: Make) -> None:
    grid = [{"template": ["{text} Mood: {label}."]}, {"model": [LanguageModel(TableScorer(name="other"))]}]
    search = GridSearchCV(make(), grid, cv=2, error_score="raise").fit(TEXTS, CLASSES)
    assert search.best_score_ == 1.0
    assert search.best_estimator_.result_.provenance.model in ("table", "other")
