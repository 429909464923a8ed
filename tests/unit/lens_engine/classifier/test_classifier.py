import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.bag_of_words import fit_bag_of_words
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prediction, Predictions, Prompt
from lens_engine.classifier.fitting import fit_head, fit_states_head
from lens_engine.classifier.heads import BagOfWordsHead, Head, HeadKind, StatesAndWordsHead, StatesHead
from lens_engine.classifier.quality import RowFigures, measure_figures
from lens_engine.classifier.regression import normalise
from lens_engine.errors import ClassifierUnreadable, InvalidDataset, InvalidVerbalizer, ModelMismatch
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import POOLINGS, Example

LABELS = ("warm", "cold", "absent, or \u00e9gal")  # not in alphabetical order
TASK = Task(Template("{text} It was {label}."), Verbalizer({label: f"word{i}" for i, label in enumerate(LABELS)}))
DEMONSTRATIONS = [
    (Example(4, "sunny", "warm"), Example(9, "frosty", "cold")),
    (Example(9, "frosty", "cold"), Example(2, 'a "quote"\u2028and\nmore', "warm")),
]
TEXTS = [f"text {number} of {('sun', 'frost', 'fog')[number % 3]}" for number in range(40)]

KINDS: tuple[HeadKind, ...] = ("argmax", "prior", "states", "bag_of_words", "states_and_words")

Make = Callable[..., Classifier]
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def make_classifier() -> Make:
    """A classifier of a prompt, fitted on the answers of a TableScorer or on states; or of words."""

    def make(kind: HeadKind = "prior", **changes: Any) -> Classifier:
        demonstrations = DEMONSTRATIONS[: kind != "bag_of_words"]
        prefixes = [TASK.render_prefix(prompt) for prompt in demonstrations]
        queries = [TASK.render_query(text) for text in TEXTS]
        scorer, gold = StatesTableScorer(), np.arange(len(TEXTS)) % 3
        head: Head
        if kind == "bag_of_words":
            head = BagOfWordsHead(bag_of_words=fit_bag_of_words(TEXTS, gold, len(LABELS)).regression)
            found = head.bag_of_words.class_log_probs(TEXTS)
        elif kind in ("states", "states_and_words"):
            by_layer = scorer.states(prefixes[0], queries, (2, 3))
            fitted = fit_states_head(by_layer, (2, 3), gold, len(LABELS)).head
            assert isinstance(fitted, StatesHead)
            head, states = fitted, by_layer[fitted.layer - 2, POOLINGS.index(fitted.pooling)]
            found = fitted.class_log_probs(states)
            if kind == "states_and_words":
                words = fit_bag_of_words(TEXTS, gold, len(LABELS)).regression
                head = StatesAndWordsHead(states=fitted, bag_of_words=words, words_weight=0.5)
                found = normalise((found + words.class_log_probs(TEXTS)) / 2)
        else:
            log_probs = scorer.score(prefixes, queries, TASK.label_spans)
            fitted = fit_head(kind, log_probs, gold).head
            assert not isinstance(fitted, StatesHead)
            head, found = fitted, fitted.class_log_probs(log_probs)
        given: dict[str, Any] = {
            "task": TaskRecord.of(TASK),
            "prompts": tuple(
                Prompt(rows=tuple(one.row for one in prompt), demonstrations=prefix)
                for prompt, prefix in zip(demonstrations, prefixes, strict=True)
            ),
            "head": head,
            "fit_rows": len(TEXTS),
            "model": ModelRecord.of(scorer.identity) if demonstrations else None,
            "tokens_per_input": 1 / 3,
            "quality": measure_figures(RowFigures.of(found, gold)),
        }
        return Classifier(**(given | changes))

    return make


@pytest.fixture
def change_file(make_classifier: Make, tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], object]], Path]:
    """The path of a saved classifier whose JSON was changed."""

    def change(edit: Edit) -> Path:
        path = tmp_path / "classifier.json"
        content = json.loads(make_classifier().model_dump_json())
        edit(content)
        path.write_text(json.dumps(content))
        return path

    return change


@pytest.mark.parametrize("kind", KINDS)
def test_saved_classifier_is_loaded_to_the_bit(kind: HeadKind, make_classifier: Make, tmp_path: Path) -> None:
    classifier = make_classifier(kind)
    path = tmp_path / "classifier.json"

    classifier.save(path)

    loaded = Classifier.load(path)
    assert loaded == classifier
    before, after = (one.predict(TEXTS, StatesTableScorer()) for one in (classifier, loaded))
    assert after.labels == before.labels
    assert after.probabilities.tobytes() == before.probabilities.tobytes()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"PK\x03\x04", b'{"prompts": NaN}', b'{"task": "\xff"}']
)
def test_file_that_is_no_classifier_is_unreadable(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(content)

    with pytest.raises(ClassifierUnreadable) as refusal:
        Classifier.load(path)
    told = f"{path} is no classifier file; give the file that `lens select --classifier` wrote"
    assert (str(refusal.value), refusal.value.field) == (told, "classifier")


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (lambda content: content.update(schema_version=2), "schema_version"),
        (lambda content: content.update(notes="mine"), "notes: Extra inputs"),
        (lambda content: content["head"].update(kind="boosted"), "head"),
        (lambda content: content["head"].update(momentum=0.9), "head.prior.momentum"),
        (lambda content: content["head"].pop("biases"), "head.prior.biases"),
        (lambda content: content["head"].update(biases=["many"]), "head.prior.biases.0"),
        (lambda content: content["head"].update(temperature=0.0), "head.prior.temperature"),
        (lambda content: content["prompts"][0].pop("demonstrations"), "prompts.0.demonstrations"),
        (lambda content: content.pop("task"), "task"),
        (lambda content: content["prompts"].pop(), "not for 0 prompts and 3 labels"),
        (lambda content: content["prompts"].append(content["prompts"][0]), "not for 2 prompts and 3 labels"),
        (lambda content: content["task"]["label_words"].pop(), "not for 1 prompts and 2 labels"),
        (lambda content: content["head"]["biases"].append([0.0] * 3), "not for 1 prompts and 3 labels"),
        (lambda content: content["head"]["biases"][0].pop(), "not for 1 prompts and 3 labels"),
    ],
)
def test_first_fault_of_a_file_is_named(edit: Edit, fault: str, change_file: Callable[..., Path]) -> None:
    with pytest.raises(ClassifierUnreadable, match=fault):
        Classifier.load(change_file(edit))


@pytest.mark.parametrize(
    "edit",
    [
        lambda words: words["terms"].pop(),
        lambda words: words["terms"].reverse(),
        lambda words: words["idf"].pop(),
        lambda words: words["weights"].pop(),
        lambda words: words["intercepts"].append(0.0),
    ],
)
def test_bag_of_words_of_another_shape_is_refused(edit: Edit, make_classifier: Make, tmp_path: Path) -> None:
    path = tmp_path / "classifier.json"
    content = json.loads(make_classifier("bag_of_words").model_dump_json())
    edit(content["head"]["bag_of_words"])
    path.write_text(json.dumps(content))
    with pytest.raises(ClassifierUnreadable, match="not for 0 prompts and 3 labels"):
        Classifier.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_file_says_whether_it_holds_words(kind: HeadKind, make_classifier: Make, tmp_path: Path) -> None:
    path = tmp_path / "classifier.json"
    make_classifier(kind).save(path)

    assert json.loads(path.read_bytes())["holds_words"] == ("words" in kind)
    assert Classifier.load(path).holds_words == ("words" in kind)


@pytest.mark.parametrize(
    ("scorer", "message"), [(None, "give the model"), (TableScorer(), "reads the model from within")]
)
def test_scorer_that_cannot_answer_is_refused(scorer: TableScorer | None, message: str, make_classifier: Make) -> None:
    with pytest.raises(ModelMismatch, match=message):
        make_classifier("states").predict(TEXTS, scorer)


@pytest.mark.parametrize("kind", KINDS)
def test_prediction_in_batches_equals_prediction_at_once(kind: HeadKind, make_classifier: Make) -> None:
    classifier, texts = make_classifier(kind), [f"text {number}" for number in range(300)]

    whole = classifier.predict(texts, StatesTableScorer())
    parts = [classifier.predict(texts[start : start + 7], StatesTableScorer()) for start in range(0, 300, 7)]

    assert whole.labels == tuple(label for part in parts for label in part.labels)
    np.testing.assert_allclose(whole.probabilities, np.concatenate([part.probabilities for part in parts]), rtol=1e-12)


def test_another_revision_is_refused(make_classifier: Make) -> None:
    other = ModelRecord(model="table", revision="f" * 64, dtype="float32", device="cpu")
    scorer = StatesTableScorer()

    with pytest.raises(ModelMismatch, match="made for table \\(revision ffffffffffff\\)") as refusal:
        make_classifier(model=other).predict(TEXTS, scorer)

    assert refusal.value.field == "model"
    assert scorer.num_calls == 0


def test_same_revision_under_another_name_is_accepted(make_classifier: Make) -> None:
    classifier = make_classifier()

    found = classifier.predict(TEXTS[:3], StatesTableScorer(name="a local copy"))

    assert found.labels == classifier.predict(TEXTS[:3], StatesTableScorer()).labels


def test_changed_label_word_is_refused_by_its_label(change_file: Callable[..., Path]) -> None:
    path = change_file(lambda content: content["task"]["label_words"][1].update(word="word0"))

    with pytest.raises(InvalidVerbalizer) as refusal:
        Classifier.load(path).predict(TEXTS, StatesTableScorer())
    assert refusal.value.field == "verbalizer.cold"


def test_texts_are_checked_before_the_model_is_asked(make_classifier: Make) -> None:
    classifier, scorer = make_classifier(), TableScorer()
    for texts, kind in (("one", TypeError), (["one", None], TypeError), (["one", ""], InvalidDataset)):
        with pytest.raises(kind, match="texts"):
            classifier.predict(texts, scorer)
    assert scorer.num_calls == 0


@pytest.mark.parametrize("kind", ["prior", "states"])
def test_text_longer_than_those_of_the_report_is_cut_as_they_were(kind: HeadKind, make_classifier: Make) -> None:
    classifier, scorer = make_classifier(kind, most_tokens=9), StatesTableScorer()
    long, short = TEXTS[0] + " more" * 90, TEXTS[1]

    cut = classifier.cut([long, short], scorer)

    assert cut == [f"{TEXTS[0]} more more ", short]
    assert len(TASK.render_demonstration(Example(0, cut[0], LABELS[0])).split()) == 9
    found = classifier.predict([long, short], scorer).probabilities
    assert (found == make_classifier(kind).predict(cut, scorer).probabilities).all()


PREDICTIONS = Predictions(("warm", "<b>", "warm"), np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]), ("warm", "<b>"))


def test_predictions_are_a_sequence_in_the_order_of_the_texts() -> None:
    assert len(PREDICTIONS) == 3
    assert PREDICTIONS[0] == Prediction("warm", {"warm": 0.75, "<b>": 0.25}) == PREDICTIONS[-3]
    assert [one.label for one in PREDICTIONS] == ["warm", "<b>", "warm"]
    assert [one.probability for one in PREDICTIONS] == [0.75, 0.5, 1.0]
    with pytest.raises(IndexError):
        PREDICTIONS[3]


def test_columns_have_labels_and_probabilities() -> None:
    columns = PREDICTIONS.to_dict()
    assert columns == {
        "label": ["warm", "<b>", "warm"],
        "probability": [0.75, 0.5, 1.0],
        "p_warm": [0.75, 0.5, 1.0],
        "p_<b>": [0.25, 0.5, 0.0],
    }


def test_repr_counts_the_labels() -> None:
    assert repr(PREDICTIONS) == "Predictions(3 texts: 'warm' 2, '<b>' 1)"
    assert repr(PREDICTIONS[:0]) == "Predictions(0 texts)"
