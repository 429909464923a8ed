"""Every engine gives the numbers of the plain one, and feeds what its scheme says."""

from typing import Any

import numpy as np
import pytest

from lab.benchmarks.compare import compare_engines
from lab.benchmarks.engines import LensEngine
from lab.benchmarks.harness import HarnessEngine, tune_harness
from lab.benchmarks.models import LoadedModel
from lab.benchmarks.workloads import Work
from lens_engine.model.tokenization import SegmentTokenizer
from tests.tiny_models import TinyArchitecture, tiny_causal_lm

WORK = Work(
    prefixes=(("good good great\n", "bad terrible\n"), ("bad bad great\n", "good\n")),
    queries=("great great It was", "terrible bad terrible It was", "good It was"),
    label_spans=(" great", " terrible", " bad good"),
)


def load(architecture: TinyArchitecture = "llama", **settings: Any) -> LoadedModel:
    tiny = tiny_causal_lm(architecture, **settings)
    return LoadedModel(tiny.model, tiny.tokenizer, SegmentTokenizer(tiny.tokenizer.backend_tokenizer))


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load()


def test_packed_gives_plain_numbers(loaded: LoadedModel) -> None:
    packed, plain = LensEngine.over(loaded, "packed"), LensEngine.over(loaded, "plain")
    np.testing.assert_allclose(packed.prepare(WORK)(), plain.prepare(WORK)(), atol=1e-4)
    assert (packed.shares_prefixes, plain.shares_prefixes) == (True, False)


def test_engines_take_turns_and_are_counted(loaded: LoadedModel) -> None:
    engines = [LensEngine.over(loaded, "packed"), LensEngine.over(loaded, "plain")]
    packed, plain = compare_engines(engines, WORK, seconds=1e-9, repetitions=3, say=lambda _: None)
    assert [len(one.measurements) for one in (packed, plain)] == [3, 3]
    assert len(packed.sample.queries) == 3
    assert packed.row(1e-6, 0.5)[-3:] == ["1e-06", "5e-01", f"{len(packed.sample.prefixes)} × 3"]


def test_harness_gives_plain_numbers(loaded: LoadedModel) -> None:
    pytest.importorskip("lm_eval")
    np.testing.assert_allclose(
        HarnessEngine(loaded, 4).prepare(WORK)(), LensEngine.over(loaded, "plain").prepare(WORK)(), atol=1e-4
    )


def test_harness_is_tuned_to_its_fastest_batch_size(loaded: LoadedModel) -> None:
    pytest.importorskip("lm_eval")
    work = Work(WORK.prefixes, tuple(f"{'g' * length} It was" for length in range(1, 17)), WORK.label_spans[:2])
    times = iter([0, 1, 1, 3, 3, 7, 7, 99])  # 16 rows each in 1, 2 and 4 seconds
    tuned = tune_harness(loaded, work, clock=lambda: float(next(times)))
    assert (tuned.batch_size, tuned.rows_per_pair) == (4, 1)
    assert HarnessEngine(loaded, 16, rows_per_pair=3).smallest_sample == 6
