"""The figures of an evaluation are those of scikit-learn."""

import tracemalloc
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import StatesHead
from lens_engine.errors import InvalidDataset, ModelMismatch
from lens_engine.evaluation.batches import (
    BATCH_ROWS,
    Answers,
    Prediction,
    RowProgress,
    join_labels,
    predict_batches,
    predict_rows,
)
from lens_engine.evaluation.evaluation import make_classifier, measure
from lens_engine.files import TextRow
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import ScorerIdentity
from lens_engine.prompt.record import LabelWord
from lens_engine.result.parts import EvaluationResult
from lens_engine.rows.problem import digest_examples
from lens_engine.testing import TableScorer
from lens_engine.types import Example, StopReason
from tests.unit.lens_cli.results import CLASSIFIER

LABELS = ("billing", "Delivery", "account")
BAD = Prediction(error="the text is too long")


@pytest.fixture
def classifier() -> Classifier:
    words = tuple(LabelWord(label=label, word=label.upper()) for label in LABELS)
    return CLASSIFIER.model_copy(update={"task": CLASSIFIER.task.model_copy(update={"label_words": words})})


def draw(count: int, seed: int = 0) -> tuple[list[Example], list[Prediction]]:
    """Rows, and answers that are right more often than not."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(len(LABELS), size=count)
    probabilities = rng.dirichlet(np.ones(len(LABELS)), size=count) + np.eye(len(LABELS))[gold] * 0.3
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    examples = [Example(row, f"text {row}", LABELS[place]) for row, place in enumerate(gold)]
    return examples, [answer(row) for row in probabilities.tolist()]


def answer(probabilities: Sequence[float]) -> Prediction:
    return Prediction(label=LABELS[int(np.argmax(probabilities))], probabilities=tuple(probabilities))


def collect(labels: Sequence[str], examples: Sequence[Example], predictions: Iterable[Prediction]) -> Answers:
    answers = Answers(labels, examples)
    answers.extend(predictions)
    return answers


def measure_answers(
    classifier: Classifier, examples: Sequence[Example], predictions: Iterable[Prediction]
) -> EvaluationResult:
    answers = collect(classifier.labels, examples, predictions)
    return measure(classifier, examples, answers)


def test_figures_are_those_of_scikit_learn(classifier: Classifier) -> None:
    examples, predictions = draw(300)
    result = measure_answers(classifier, examples, predictions)
    gold = [example.label for example in examples]
    labels = [one.label for one in predictions]
    shares = np.array([one.probabilities for one in predictions])
    places = np.array([LABELS.index(label) for label in gold])
    quality = result.quality
    assert quality.accuracy == accuracy_score(gold, labels)
    assert quality.macro_f1 == pytest.approx(f1_score(gold, labels, average="macro"))
    assert quality.log_loss == pytest.approx(log_loss(places, shares, labels=range(len(LABELS))))
    assert result.confusion == tuple(map(tuple, confusion_matrix(gold, labels, labels=LABELS).tolist()))
    assert result.labels == LABELS
    assert result.dataset_sha256 == digest_examples(examples)


@pytest.mark.parametrize("count", [4, 60, 400])
def test_intervals_hold_their_figures_and_narrow_with_the_rows(count: int, classifier: Classifier) -> None:
    quality = measure_answers(classifier, *draw(count)).quality
    for figure, (low, high) in (
        (quality.accuracy, quality.ci95),
        (quality.macro_f1, quality.macro_f1_ci95),
        (quality.log_loss, quality.log_loss_ci95),
    ):
        assert figure is not None
        assert low <= figure <= high
    low, high = quality.macro_f1_ci95
    assert high - low < 4 / count**0.5
    assert quality.ece_ci95[0] <= quality.ece_ci95[1]


def test_probabilities_of_many_rows_are_never_in_memory_together() -> None:
    labels = tuple(f"label {n}" for n in range(200))
    words = tuple(LabelWord(label=label, word=label) for label in labels)
    classifier = CLASSIFIER.model_copy(update={"task": CLASSIFIER.task.model_copy(update={"label_words": words})})
    examples = [Example(row, "text", labels[row % 200]) for row in range(5_000)]
    one = Prediction(label=labels[0], probabilities=(1 / 200,) * 200)
    measure_answers(classifier, examples[:1], [one])  # imports scikit-learn
    tracemalloc.start()
    measure_answers(classifier, examples, repeat(one, 5_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 5_000 * 200 / 2  # half of what they take as 32-bit floats


def test_rows_without_an_answer_are_counted_and_left_out(classifier: Classifier) -> None:
    examples, predictions = draw(40)
    without = [*predictions[:30], *[BAD] * 10]
    result = measure_answers(classifier, examples, without)
    assert result.quality == measure_answers(classifier, examples[:30], predictions[:30]).quality
    assert result.unanswered == 10
    assert sum(map(sum, result.confusion)) == 30
    assert result.warnings == ("10 rows were too long and not judged",)
    with pytest.raises(InvalidDataset, match="no row has an answer: the text is too long"):
        measure_answers(classifier, examples, [BAD] * 40)


def test_labels_in_other_spellings_are_those_of_the_classifier(classifier: Classifier) -> None:
    examples, predictions = draw(30)
    spelled = [Example(one.row, one.text, f" {one.label.swapcase()} ", one.line) for one in examples]
    assert join_labels(LABELS, spelled) == examples
    result = measure_answers(classifier, spelled, predictions)
    assert result.quality == measure_answers(classifier, examples, predictions).quality
    assert result.dataset_sha256 == digest_examples(spelled)


def test_labels_that_differ_in_case_alone_stay_apart() -> None:
    examples = [Example(0, "a", "a"), Example(1, "b", "A")]
    assert [one.label for one in join_labels(("A", "a"), examples)] == ["a", "A"]


def test_unknown_label_is_refused_with_its_place() -> None:
    examples = [Example(0, "a", "billing"), Example(1, "b", "refund", line=7)]
    with pytest.raises(InvalidDataset, match=r"^line 7 has the label 'refund'.* billing, Delivery") as caught:
        join_labels(LABELS, examples)
    assert (caught.value.field, caught.value.row) == ("dataset.label", 1)


def test_answers_that_do_not_beat_the_largest_class_are_told(classifier: Classifier) -> None:
    examples = [Example(row, f"text {row}", LABELS[row % 4 == 3]) for row in range(40)]
    always, wrong = answer((0.8, 0.1, 0.1)), answer((0.1, 0.1, 0.8))

    for one in (always, wrong):
        (warning,) = measure_answers(classifier, examples, [one] * 40).warnings
        assert warning.startswith("nothing that was tested is better than always the most frequent label: 75 %")
    right = [answer((0.8, 0.1, 0.1) if one.label == LABELS[0] else (0.1, 0.8, 0.1)) for one in examples]
    assert measure_answers(classifier, examples, right).warnings == ()


TEXTS = ["Sunny", "Rainy", "a day"]
STATES = CLASSIFIER.model_copy(
    update={
        "head": StatesHead(layer=1, pooling="last", weights=((1.0,), (2.0,)), intercepts=(0.0, 0.0), inverse_l2=1.0)
    }
)


class OtherScorer(TableScorer):
    """Another model."""

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity("other", revision="1" * 64, dtype="float32", device="cpu", executor="plain")


def test_coefficients_of_states_are_of_one_model() -> None:
    with pytest.raises(
        ModelMismatch, match="the classifier reads the model from within, and its coefficients are of table"
    ):
        make_classifier(STATES, OtherScorer(), is_other_model=True)


def test_another_model_is_asked_if_it_may_be() -> None:
    other = OtherScorer()
    with pytest.raises(ModelMismatch):
        make_classifier(CLASSIFIER, other)
    classifier = make_classifier(CLASSIFIER, other, is_other_model=True)
    assert classifier.model is not None
    assert classifier.model.model == "other"
    assert classifier.predict(TEXTS, other).labels


ROWS = [TextRow(f"Film {number}, a joy") for number in range(2 * BATCH_ROWS + 40)]


class Heard(list[RowProgress]):
    """A `RowListener` that asks for a stop once `stop_at` rows are done."""

    stop_at = len(ROWS) + 1

    def on_rows(self, progress: RowProgress) -> None:
        self.append(progress)

    def stop_requested(self) -> StopReason | None:
        return StopReason.CANCELLED if self and self[-1].done >= self.stop_at else None


def ask(answers: list[Prediction], listener: Heard, scorer: TableScorer) -> None:
    """Ask for the rows that have no answer yet."""
    times = iter(range(0, 1000, 10))
    for batch in predict_batches(CLASSIFIER, ROWS, scorer, listener, len(answers), lambda: next(times)):
        answers.extend(batch)


def test_stopped_run_goes_on_after_the_last_whole_batch() -> None:
    answers, listener, scorer = list[Prediction](), Heard(), TableScorer()
    listener.stop_at = BATCH_ROWS
    with pytest.raises(Stopped):
        ask(answers, listener, scorer)
    assert (len(answers), scorer.num_calls) == (BATCH_ROWS, 1)

    ask(answers, Heard(), scorer)

    whole = [ROWS[start : start + BATCH_ROWS] for start in range(0, len(ROWS), BATCH_ROWS)]
    assert answers == [one for batch in whole for one in predict_rows(CLASSIFIER, batch, TableScorer())]


def test_speed_leaves_out_the_rows_of_an_earlier_run() -> None:
    listener, answers = Heard(), predict_rows(CLASSIFIER, ROWS[:BATCH_ROWS], TableScorer())
    ask(answers, listener, TableScorer())
    done = [BATCH_ROWS, 2 * BATCH_ROWS, len(ROWS)]
    assert [one.done for one in listener] == done
    assert [one.per_second for one in listener] == [None, BATCH_ROWS / 20, (BATCH_ROWS + 40) / 30]
