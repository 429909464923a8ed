"""The way through a kernel that takes sequences end to end, with plain operations in the kernel's place."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import Library
from transformers import AttentionInterface

from lens_engine.model.labels import LabelTrie, build_label_trie
from lens_engine.model.local.executors import PackedExecutor, PlainExecutor, TokenCounters, Workload
from lens_engine.model.local.executors.layout import packed_attention
from lens_engine.model.local.executors.packed import ATTENTION_NAME
from lens_engine.model.local.executors.transfer import download
from lens_engine.model.local.executors.varlen import (
    Sequences,
    attend_portable,
    attend_varlen,
    choose_kernel,
    takes_heads,
)
from tests.tiny_models import TinyArchitecture, tiny_causal_lm

CPU = torch.device("cpu")
ONE_TOKEN = build_label_trie(("a", "b"), ((5,), (6,)))
BRANCHING = build_label_trie(("a", "b", "c"), ((5,), (6, 7), (6, 8, 9)))
PREFIXES = ((11, 12, 13, 14, 15), (), tuple(range(20, 43)), (50,))
QUERIES = ((1, 2, 3), (4,), tuple(range(60, 77)))


def flash_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_ends: Tensor,
    key_ends: Tensor,
    longest_query: int,
    longest_key: int,
    dropout: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float | None = None,
    **others: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The operator in plain operations, with the demands that the CUDA kernel makes of its arguments."""
    assert not dropout
    assert not return_debug_mask
    assert not any(others.values())
    assert scale is not None
    for heads, ends, longest in ((query, query_ends, longest_query), (key, key_ends, longest_key)):
        lengths = ends.diff().tolist()
        assert (ends.dtype, ends.is_contiguous(), ends[0].item()) == (torch.int32, True, 0)
        assert ends[-1].item() == len(heads)
        assert longest == max(lengths)
        assert heads.stride(-1) == 1
    assert min(key_ends.diff().tolist()) > 0
    assert not query.shape[-1] % 8
    assert query.shape[1] % key.shape[1] == 0
    assert key.shape == value.shape
    outputs, normalisers = [], []
    for queries, keys in zip(_slices(query_ends), _slices(key_ends), strict=True):
        heads_first = (tensor.float().transpose(0, 1)[None] for tensor in (query[queries], key[keys], value[keys]))
        output, normaliser = attend_portable(*heads_first, scaling=scale, causal=is_causal)
        outputs.append(output[0].transpose(0, 1))
        normalisers.append(normaliser[0])
    nothing = torch.empty(0)
    return torch.cat(outputs).to(query.dtype), torch.cat(normalisers, dim=1), nothing, nothing, nothing


def _slices(ends: Tensor) -> list[slice]:
    return [slice(*pair) for pair in itertools.pairwise(ends.tolist())]


@pytest.fixture(scope="module", autouse=True)
def _operator_on_processors() -> Iterator[None]:
    """torch has the operator for CUDA only; with this, all of the path but the kernel runs on a processor."""
    library: Any = Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    library.impl("_flash_attention_forward", flash_attention_forward, "CPU")
    yield
    library._destroy()


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "qwen3"])
@pytest.mark.parametrize("trie", [ONE_TOKEN, BRANCHING], ids=["one-token", "branching"])
@pytest.mark.parametrize("budget", [1000, 25, 1])
def test_scores_by_sequences_equal_plain_ones(architecture: TinyArchitecture, trie: LabelTrie, budget: int) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm(architecture).model
    work = Workload(PREFIXES, QUERIES, trie)
    counters = TokenCounters()
    with torch.inference_mode():
        packed = PackedExecutor(model, counters, kernel=attend_varlen).run(work, budget)
        plain = PlainExecutor(model, TokenCounters()).run(work, 1)

    np.testing.assert_allclose(packed, plain, rtol=0, atol=1e-4)
    assert counters.fed_tokens == work.ideal_tokens


@pytest.mark.parametrize("trie", [ONE_TOKEN, BRANCHING], ids=["one-token", "branching"])
def test_scores_by_sequences_in_16_bits_are_near_float32_ones(trie: LabelTrie) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    work = Workload(PREFIXES, QUERIES, trie)
    with torch.inference_mode():
        plain = PlainExecutor(tiny_causal_lm("llama").model, TokenCounters()).run(work, 1)
        narrow = tiny_causal_lm("llama").model.to(torch.bfloat16)
        packed = PackedExecutor(narrow, TokenCounters(), kernel=attend_varlen).run(work, 60)
    np.testing.assert_allclose(packed, plain, rtol=0, atol=0.3)


@pytest.mark.parametrize(("trie", "calls"), [(ONE_TOKEN, 3), (BRANCHING, 5)], ids=["one-token", "branching"])
@pytest.mark.parametrize("num_prefixes", [2, 40])
def test_kernel_calls_of_a_layer_do_not_grow_with_the_groups(num_prefixes: int, trie: LabelTrie, calls: int) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm("llama").model
    shared: list[bool] = []

    def count(query: Tensor, key: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        shared.append(key.shape[1] < query.shape[1])
        return attend_varlen(query, key, *others)

    work = Workload(tuple((20 + n, 30) for n in range(num_prefixes)), QUERIES, trie)
    with torch.inference_mode():
        PackedExecutor(model, TokenCounters(), kernel=count).run(work, 10_000)

    assert len(shared) == calls * model.config.num_hidden_layers
    assert all(shared)  # keys and values are not copied for the heads that share them


def test_reads_are_fetched_while_the_next_forward_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm("llama").model
    happened: list[str] = []

    def follow(values: Tensor) -> Callable[[], NDArray[np.float32]]:
        happened.append("computed")
        fetch = download(values)

        def wait() -> NDArray[np.float32]:
            happened.append("fetched")
            return fetch()

        return wait

    monkeypatch.setattr("lens_engine.model.local.executors.packed.download", follow)
    counters = TokenCounters()
    with torch.inference_mode():
        PackedExecutor(model, counters, kernel=attend_varlen).run(Workload(((), (), ()), QUERIES, ONE_TOKEN), 21)

    assert counters.num_forwards == 3
    assert happened == ["computed", "computed", "fetched", "computed", "fetched", "fetched"]


def test_sequences_attend_to_their_own_keys_only() -> None:
    query, key, value = (torch.randn(7, 2, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    together = Sequences.of([3, 4], [3, 4], CPU)
    output, normalisers = attend_varlen(query, key, value, together, 0.3, True)

    alone, normaliser = attend_varlen(query[3:], key[3:], value[3:], Sequences.of([4], [4], CPU), 0.3, True)
    torch.testing.assert_close(output[3:], alone)
    torch.testing.assert_close(normalisers[3:], normaliser)
    assert together.query_ends.tolist() == [0, 3, 7]
    assert (together.query_ends.dtype, together.longest_key) == (torch.int32, 4)


@pytest.mark.parametrize("key_value_heads", [4, 2])
@pytest.mark.parametrize("causal", [True, False])
def test_kernel_of_this_torch_takes_the_call_and_gives_tokens_first(key_value_heads: int, causal: bool) -> None:
    # Shapes and arguments only: the kernel itself runs on CUDA alone.
    with FakeTensorMode():
        query = torch.empty(7, 4, 64, dtype=torch.bfloat16)
        key, value = (torch.empty(9, key_value_heads, 64, dtype=torch.bfloat16) for _ in range(2))
        ends = torch.empty(3, dtype=torch.int32)
        output, normalisers = attend_varlen(query, key, value, Sequences(ends, ends, 4, 5), 0.125, causal)
    assert (output.shape, normalisers.shape) == ((7, 4, 64), (7, 4))


@pytest.mark.parametrize(
    ("query_size", "value_size", "is_taken"), [(64, 64, True), (12, 12, False), (264, 264, False), (64, 32, False)]
)
def test_heads_of_unusual_size_are_not_the_kernels(query_size: int, value_size: int, is_taken: bool) -> None:
    assert takes_heads(torch.empty(1, 2, 5, query_size), torch.empty(1, 2, 5, value_size)) == is_taken


def test_model_with_unsupported_heads_is_packed_without_kernel(caplog: pytest.LogCaptureFixture) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm("llama", head_dim=12).model
    work = Workload(PREFIXES, QUERIES, BRANCHING)
    with torch.inference_mode():
        packed = PackedExecutor(model, TokenCounters(), kernel=attend_varlen).run(work, 60)
        plain = PlainExecutor(model, TokenCounters()).run(work, 1)
    np.testing.assert_allclose(packed, plain, rtol=0, atol=1e-4)
    assert "does not take heads of 12" in caplog.text


@pytest.mark.parametrize(
    ("device", "dtype", "has_kernel"),
    [
        ("cuda", torch.bfloat16, True),
        ("cuda", torch.float16, True),
        ("cuda", torch.float32, False),
        ("cpu", torch.bfloat16, False),
    ],
)
def test_kernel_is_for_cuda_in_16_bits(device: str, dtype: torch.dtype, has_kernel: bool) -> None:
    assert (choose_kernel(torch.device(device), dtype) is not None) == has_kernel
