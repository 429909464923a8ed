"""How far an executor may be from the plain one, and what running out of memory in a check means."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AttentionInterface

from lens_engine.errors import OutOfMemory
from lens_engine.model.local.executor_choice import (
    TOLERANCE,
    choose_executor,
    make_check_workload,
    make_yardstick,
    run_check,
)
from lens_engine.model.local.executors import PlainExecutor, TokenCounters, Workload
from lens_engine.model.local.executors.layout import packed_attention
from lens_engine.model.local.executors.packed import ATTENTION_NAME
from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.torch_choices import choose_dtype
from lens_engine.opening import LanguageModel, open_model
from lens_engine.prompt.template import Task
from lens_engine.types import LabelLogProbs
from tests.tiny_models import TINY_CONTEXT, TinyCausalLM, tiny_causal_lm

HALF, WIDE = torch.float16, torch.bfloat16
EXACT: LabelLogProbs = np.array([[[-1.0, -2.0]]], np.float32)


def off_by(delta: float) -> LabelLogProbs:
    """Scores that are off by `delta` (nats) in one place."""
    return EXACT + np.array([[[0.0, delta]]], np.float32)


@pytest.mark.parametrize(
    ("dtype", "plain", "tolerance"),
    [
        (WIDE, 0.3, 2 * 0.3 + 0.125),  # a large model rounds much, in every right executor
        (WIDE, 0.0, 0.125),
        (HALF, 0.02, 2 * 0.02 + 0.025),
    ],
)
def test_model_in_16_bits_is_measured_by_its_own_rounding(dtype: torch.dtype, plain: float, tolerance: float) -> None:
    yardstick = make_yardstick(off_by(plain), dtype, EXACT)
    assert yardstick.tolerance == pytest.approx(tolerance)
    np.testing.assert_array_equal(yardstick.scores, EXACT)


@pytest.mark.parametrize("plain", [0.6, 5.0, float("nan")])
def test_reference_that_would_let_a_wrong_mask_pass_is_no_measure(plain: float) -> None:
    yardstick = make_yardstick(off_by(plain), WIDE, EXACT)
    assert yardstick.tolerance == TOLERANCE[WIDE]
    np.testing.assert_array_equal(yardstick.scores, off_by(plain))


@pytest.mark.parametrize("dtype", [torch.float32, WIDE, HALF])
def test_without_a_reference_the_plain_executor_is_the_measure(dtype: torch.dtype) -> None:
    yardstick = make_yardstick(off_by(0.3), dtype)
    assert yardstick.tolerance == TOLERANCE[dtype]
    np.testing.assert_array_equal(yardstick.scores, off_by(0.3))


@pytest.mark.parametrize(("whole", "parts"), [(0.2, 0.0), (0.1, 0.2)])
def test_executor_is_measured_in_one_forward_and_in_several(whole: float, parts: float) -> None:
    def run(work: Workload, _budget: int) -> LabelLogProbs:
        return off_by(whole) if len(work.trie.reads) > 1 else (EXACT + np.float32(parts))[..., :1]

    tiny = tiny_causal_lm("llama")
    yardstick = make_yardstick(EXACT, WIDE, EXACT)
    executor: Any = SimpleNamespace(name="packed", run=run)
    assert yardstick.measure(executor, check_workload(tiny)) == pytest.approx(0.2)


def check_workload(tiny: TinyCausalLM) -> Workload:
    return make_check_workload(len(tiny.tokenizer), TINY_CONTEXT)


def test_right_executor_passes_in_16_bits_by_a_reference_in_float32() -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    tiny = tiny_causal_lm("llama")
    work = check_workload(tiny)
    reference = run_check(PlainExecutor(tiny.model, TokenCounters()), work)
    tiny.model.to(WIDE)

    assert choose_executor(tiny.model, ["packed", "plain"], work, reference).name == "packed"
    rounding = make_yardstick(run_check(PlainExecutor(tiny.model, TokenCounters()), work), WIDE, reference)
    assert rounding.tolerance < TOLERANCE[WIDE], "a small model is held to less than the limit for all models"


def run_out_of_memory(tiny: TinyCausalLM, *, only_packed: bool, error: Exception) -> None:
    def hook(_module: Any, _given: Any, named: dict[str, Any]) -> None:
        if not only_packed or "packed_layout" in named:
            raise error

    tiny.model.register_forward_pre_hook(hook, with_kwargs=True)


@pytest.mark.parametrize("only_packed", [True, False])
@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"), MemoryError()]
)
def test_memory_that_runs_out_in_a_check_says_nothing_about_the_executor(only_packed: bool, error: Exception) -> None:
    tiny = tiny_causal_lm("llama")
    run_out_of_memory(tiny, only_packed=only_packed, error=error)
    with pytest.raises(OutOfMemory, match="while the model was tried") as raised:
        tiny.scorer()
    assert raised.value.__cause__ is error


def test_other_errors_of_an_executor_still_speak_against_it() -> None:
    tiny = tiny_causal_lm("llama")
    run_out_of_memory(tiny, only_packed=True, error=RuntimeError("no such kernel"))
    identity = tiny.scorer().identity
    assert (identity.executor, identity.executor_note) == ("cached", "packed: RuntimeError: no such kernel")


@pytest.mark.parametrize(("has_units", "dtype"), [(True, "bfloat16"), (False, "float32")])
def test_processor_takes_bfloat16_where_it_has_units_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_units: bool, dtype: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_units)

    scorer = load_scorer(str(tiny_causal_lm("llama").save(tmp_path)), device="cpu")

    assert (scorer.identity.dtype, scorer.identity.executor) == (dtype, "packed")


def test_other_devices_take_float32() -> None:
    assert choose_dtype(torch.device("mps")) == torch.float32


@pytest.mark.gpu
def test_gpu_takes_bfloat16_where_it_has_units_for_it() -> None:
    has_units = torch.cuda.get_device_capability() >= (8, 0)
    assert (choose_dtype(torch.device("cuda")) == torch.bfloat16) == has_units


def test_gpu_without_room_for_its_first_call_is_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have taken the whole GPU; then already the first call of CUDA fails."""

    def fail(*_: Any) -> bool:
        raise torch.AcceleratorError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", fail)
    with pytest.raises(OutOfMemory, match="at the first look at the device"):
        load_scorer(str(tiny_causal_lm("llama").save(tmp_path)), device="cpu")


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
    assert (first.scorer.pairs_found, second.scorer.pairs_found) == (0, 6)


def test_without_a_pair_cache_scores_are_neither_stored_nor_found(folder: Path, tmp_path: Path, task: Task) -> None:
    for pair_cache_bytes in (None, 1 << 20, None):
        model = open_tiny(folder, tmp_path, pair_cache_bytes=pair_cache_bytes)
        score(model, task)
        assert model.scorer.pairs_found == 0


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
