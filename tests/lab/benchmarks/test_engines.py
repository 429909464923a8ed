"""Every engine gives the numbers of the plain one, and feeds what its scheme says."""

from typing import Any

import numpy as np
import pytest

from lab.benchmarks.check import find_slower
from lab.benchmarks.compare import compare_engines, count_ideal_tokens
from lab.benchmarks.engines import AuthorsEngine, LensEngine, encode, row_length, share_cut
from lab.benchmarks.harness import HarnessEngine, tune_harness
from lab.benchmarks.measuring import counting_tokens
from lab.benchmarks.models import LoadedModel
from lab.benchmarks.workloads import Work
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.testing import TinyArchitecture, tiny_causal_lm

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


def run_counted(engine: Any, work: Work) -> tuple[Any, int]:
    run = engine.prepare(work)
    run()  # the first run feeds one token more, to see how far the model looks back
    with counting_tokens(engine.loaded.model) as fed:
        return run(), sum(fed)


def test_packed_feeds_each_token_once_and_gives_plain_numbers(loaded: LoadedModel) -> None:
    packed, plain = LensEngine.over(loaded, "packed"), LensEngine.over(loaded, "plain")
    numbers, fed = run_counted(packed, WORK)
    assert fed == encode(WORK, loaded).workload.ideal_tokens
    np.testing.assert_allclose(numbers, plain.prepare(WORK)(), atol=1e-4)
    assert (packed.shares_prefixes, plain.shares_prefixes) == (True, False)


def test_authors_scheme_gives_plain_numbers_from_one_padded_row_for_each_label(loaded: LoadedModel) -> None:
    numbers, fed = run_counted(AuthorsEngine(loaded), WORK)
    assert fed == 2 * 3 * 3 * 256
    np.testing.assert_allclose(numbers, LensEngine.over(loaded, "plain").prepare(WORK)(), atol=1e-4)


def test_authors_scheme_cuts_what_is_longer_than_its_rows(loaded: LoadedModel) -> None:
    long = Work((("g" * 300,), ("g" * 10,)), ("bad It was",), WORK.label_spans)
    encoded = encode(long, loaded)
    assert (row_length(encoded), share_cut(encoded)) == (256, 0.5)
    assert AuthorsEngine(loaded).prepare(long)().shape == (2, 1, 3)


def test_tokens_of_an_engine_that_shares_nothing_are_its_share_of_the_whole_work(loaded: LoadedModel) -> None:
    plain, packed = LensEngine.over(loaded, "plain"), LensEngine.over(loaded, "packed")
    whole = encode(WORK, loaded).workload.ideal_tokens
    assert count_ideal_tokens(plain, WORK.part(1, 1), WORK) == round(whole / 6)
    assert count_ideal_tokens(packed, WORK.part(1, 3), WORK) == encode(WORK.part(1, 3), loaded).workload.ideal_tokens


def test_engines_take_turns_and_are_counted(loaded: LoadedModel) -> None:
    engines = [LensEngine.over(loaded, "packed"), AuthorsEngine(loaded)]
    packed, authors = compare_engines(engines, WORK, seconds=1e-9, repetitions=3, say=lambda _: None)
    assert [len(one.measurements) for one in (packed, authors)] == [3, 3]
    assert (packed.fed_tokens, authors.fed_tokens) == (packed.ideal_tokens, authors.sample.num_pairs * 3 * 256)
    assert (len(packed.sample.queries), authors.sample.num_pairs) == (3, 1)
    assert packed.row(1e12, 1e-6, 0.5)[-3:] == ["1e-06", "0.50", f"{len(packed.sample.prefixes)} × 3"]


def test_matrix_weights_leave_out_embeddings_and_head() -> None:
    loaded = load("gpt2")
    width = loaded.model.config.n_embd
    assert loaded.matrix_weights == 2 * 12 * width**2
    assert loaded.head_weights == loaded.model.config.vocab_size * width


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


def test_first_pair_of_executors_out_of_order_is_named() -> None:
    assert find_slower({"packed": 1.0, "cached": 2.0, "plain": 3.0}) is None
    found = find_slower({"packed": 1.0, "cached": 4.0, "plain": 3.0})
    assert found == "cached took 4.000 s, more than plain with 3.000 s"
