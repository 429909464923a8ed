"""What the answering process says has the bytes of the library's `Classifier.predict`."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from app.answers.answering import Answering
from app.answers.models import Models
from app.answers.remote import Subject
from app.settings import Settings
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import StatesHead
from lens_engine.evaluation.batches import BATCH_ROWS, Prediction
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.pool import Pool, PromptForm, Retrieval
from lens_engine.types import Example
from tests.subjects import ask, make_classifier
from tests.tiny_models import tiny_causal_lm
from worker.model_loading import Weights, load_model

TEXTS = [f"text {number} {'long ' * (number % 7)}of films" for number in range(BATCH_ROWS + 40)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("model")
    tiny_causal_lm("llama").save(folder)
    return Settings(
        _env_file=None,
        allowed_models={"tiny": str(folder)},
        default_model="tiny",
        device="cpu",
        cache_dir=tmp_path_factory.mktemp("cache"),
    )


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def scorer(settings: Settings, request: pytest.FixtureRequest) -> LabelScorer:
    return load_model(settings, "tiny", request.param, remembers=False).scorer


@pytest.fixture
def start(settings: Settings) -> Iterator[Callable[[], Answering]]:
    made = list[Answering]()

    def make() -> Answering:
        made.append(Answering(Models(Weights(settings)), gather_seconds=0.5))
        return made[-1]

    yield make
    for one in made:
        one.close()


def with_states(classifier: Classifier) -> Classifier:
    weights = tuple(map(tuple, np.random.default_rng(7).normal(size=(2, 32)).tolist()))
    head = StatesHead(layer=1, pooling="mean", weights=weights, intercepts=(0.0, 0.5), inverse_l2=1.0)
    return classifier.model_copy(update={"head": head})


def with_nearest(classifier: Classifier) -> Classifier:
    pool = Pool.of([Example(row, text, "good" if row % 2 else "bad") for row, text in enumerate(TEXTS[:40])])
    retrieval = Retrieval(form=PromptForm(kind="fixed+nearest", nearest=2), pool=pool)
    return classifier.model_copy(update={"retrieval": retrieval})


def pack(predictions: Sequence[Prediction]) -> bytes:
    return np.array([one.probabilities for one in predictions], np.float32).tobytes()


@pytest.mark.parametrize("change", [lambda one: one, with_states, with_nearest], ids=["prompt", "states", "nearest"])
def test_batches_have_the_bytes_of_the_library_alone_merged_and_after_a_restart(
    change: Callable[[Classifier], Classifier], scorer: LabelScorer, start: Callable[[], Answering]
) -> None:
    classifier = change(make_classifier(scorer))
    subject, answering = Subject.of(classifier), start()
    first = ask(answering, subject, TEXTS[:BATCH_ROWS]).result(120)
    one, two = (ask(answering, subject, texts) for texts in (TEXTS[:1], TEXTS[1:4]))
    merged = [*one.result(120), *two.result(120)]
    alone = ask(answering, subject, TEXTS[4:5]).result(120)
    last = ask(start(), Subject.read(subject.content), TEXTS[BATCH_ROWS:]).result(120)

    def predict(texts: list[str]) -> bytes:
        return classifier.predict(texts, scorer).probabilities.astype(np.float32).tobytes()

    assert pack([*first, *last]) == predict(TEXTS)
    assert pack(merged) == predict(TEXTS[:4])
    assert pack(alone) == predict(TEXTS[4:5])
