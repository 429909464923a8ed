from pathlib import Path

import numpy as np
import pytest
import torch

from lens_engine.errors import UnknownModel
from lens_engine.opening import LanguageModel, open_model
from lens_engine.scoring.cache.scorer import count_pairs_found
from lens_engine.task.template import Task
from lens_engine.testing import tiny_causal_lm
from lens_engine.types import LabelLogProbs

PREFIXES = [(), ("good It was GOOD.\n",)]
QUERIES = ["a fine day It was", "a bad day It was", "so so It was"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal_lm("llama").save(tmp_path_factory.mktemp("tiny"))


def open_tiny(folder: Path, cache_dir: Path, **given: int | None) -> LanguageModel:
    return open_model(str(folder), dtype="float32", device="cpu", name="tiny", cache_dir=cache_dir, **given)


def score(model: LanguageModel, task: Task) -> LabelLogProbs:
    return model.scorer.score(PREFIXES, QUERIES, task.label_spans)


def test_scores_of_a_second_opening_come_from_the_cache(folder: Path, tmp_path: Path, task: Task) -> None:
    first = open_tiny(folder, tmp_path)
    computed = score(first, task)
    second = open_tiny(folder, tmp_path)

    found = score(second, task)

    assert np.array_equal(found, computed)
    assert (count_pairs_found(first.scorer), count_pairs_found(second.scorer)) == (0, 6)


def test_without_a_pair_cache_scores_are_neither_stored_nor_found(folder: Path, tmp_path: Path, task: Task) -> None:
    for pair_cache_bytes in (None, 1 << 20, None):
        model = open_tiny(folder, tmp_path, pair_cache_bytes=pair_cache_bytes)
        score(model, task)
        assert count_pairs_found(model.scorer) == 0


def test_name_stands_for_the_path_in_results(folder: Path, tmp_path: Path) -> None:
    assert open_tiny(folder, tmp_path).scorer.identity.model == "tiny"


@pytest.mark.parametrize(("usual", "allowed", "threads"), [(2, "1", 1), (2, "1000", 2), (1, "1000", 1)])
def test_threads_are_no_more_than_the_processors_allowed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usual: int, allowed: str, threads: int
) -> None:
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", allowed)  # counts as the limit of a container does
    monkeypatch.setattr("os.cpu_count", lambda: 1000)  # of the machine, of which the process may use a part
    torch.set_num_threads(usual)
    open_tiny(folder, tmp_path)
    found = torch.get_num_threads()
    torch.set_num_threads(before)
    assert found == threads


def test_unknown_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel):
        open_model(str(tmp_path / "missing"), cache_dir=tmp_path)
