import pickle
from pathlib import Path

from lens_engine import read_examples
from lens_engine.model.local.model_files import BUNDLED_MODEL
from tests.slow.lens_engine.run.test_estimator import CLASSES, SMALL, TEXTS, Make
from tests.tiny_models import tiny_causal_lm


def test_estimator_with_the_name_of_a_model_is_pickled_without_the_weights(make: Make, tmp_path: Path) -> None:
    folder = tiny_causal_lm("llama").save(tmp_path / "tiny")
    options = {**SMALL, "classifier.kind": "states", "classifier.fit_rows": 20}
    estimator = make(model=folder, options=options).fit(TEXTS, CLASSES)

    stored = pickle.dumps(estimator)

    assert len(stored) < 100_000
    assert pickle.loads(stored).predict_proba(TEXTS).tolist() == estimator.predict_proba(TEXTS).tolist()


def test_bundled_model_classifies_better_than_chance(make: Make) -> None:
    examples = read_examples(Path(__file__).parents[4] / "examples/support_desk/train.csv")[:80]
    texts, classes = [one.text for one in examples], [one.label for one in examples]
    estimator = make(model=BUNDLED_MODEL, options={**SMALL, "classifier.kind": "states"})
    assert estimator.fit(texts[:60], classes[:60]).score(texts[60:], classes[60:]) > 0.4
