"""The way through a kernel that takes sequences end to end, with plain operations in the kernel's place."""

from typing import NoReturn

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AttentionInterface

from lens_engine.scoring.executors import PackedExecutor, PlainExecutor, TokenCounters, Workload
from lens_engine.scoring.executors.attention import attend_portable
from lens_engine.scoring.executors.packed import ATTENTION_NAME
from lens_engine.scoring.executors.packed_attention import packed_attention
from lens_engine.scoring.executors.varlen import (
    Sequences,
    attend_varlen,
    choose_kernel,
    takes_heads,
)
from lens_engine.scoring.labels import LabelTrie, build_label_trie
from lens_engine.testing import TinyArchitecture, tiny_causal_lm

CPU = torch.device("cpu")
ONE_TOKEN = build_label_trie(("a", "b"), ((5,), (6,)))
BRANCHING = build_label_trie(("a", "b", "c"), ((5,), (6, 7), (6, 8, 9)))
PREFIXES = ((11, 12, 13, 14, 15), (), tuple(range(20, 43)), (50,))
QUERIES = ((1, 2, 3), (4,), tuple(range(60, 77)))


def attend_sequences_portable(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """`AttendSequences` in plain operations, one sequence at a time."""
    outputs, normalisers = [], []
    query_ends, key_ends = sequences.query_ends.tolist(), sequences.key_ends.tolist()
    for index in range(len(query_ends) - 1):
        queries, keys = slice(*query_ends[index : index + 2]), slice(*key_ends[index : index + 2])
        heads = (tensor.transpose(0, 1).unsqueeze(0) for tensor in (query[queries], key[keys], value[keys]))
        output, normaliser = attend_portable(*heads, scaling=scaling, causal=causal)
        outputs.append(output[0].transpose(0, 1))
        normalisers.append(normaliser[0].transpose(0, 1))
    return torch.cat(outputs), torch.cat(normalisers)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "qwen3"])
@pytest.mark.parametrize("trie", [ONE_TOKEN, BRANCHING], ids=["one-token", "branching"])
@pytest.mark.parametrize("budget", [1000, 60, 25, 1])
def test_scores_by_sequences_equal_plain_ones(architecture: TinyArchitecture, trie: LabelTrie, budget: int) -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm(architecture).model
    work = Workload(PREFIXES, QUERIES, trie)
    counters = TokenCounters()
    with torch.inference_mode():
        packed = PackedExecutor(model, counters, kernel=attend_sequences_portable).run(work, budget)
        plain = PlainExecutor(model, TokenCounters()).run(work, 1)

    np.testing.assert_allclose(packed, plain, rtol=0, atol=1e-4)
    assert counters.fed_tokens == work.ideal_tokens


def test_sequences_attend_to_their_own_keys_only() -> None:
    query, key, value = (torch.randn(7, 2, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    together = Sequences.of([3, 4], [3, 4], CPU)
    output, normalisers = attend_sequences_portable(query, key, value, together, 0.3, True)

    alone, normaliser = attend_sequences_portable(query[3:], key[3:], value[3:], Sequences.of([4], [4], CPU), 0.3, True)
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


def test_model_with_unsupported_heads_is_packed_without_kernel() -> None:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model = tiny_causal_lm("llama", head_dim=12).model
    work = Workload(PREFIXES, QUERIES, BRANCHING)
    with torch.inference_mode():
        packed = PackedExecutor(model, TokenCounters(), kernel=refuse_heads).run(work, 60)
        plain = PlainExecutor(model, TokenCounters()).run(work, 1)
    np.testing.assert_allclose(packed, plain, rtol=0, atol=1e-4)


def refuse_heads(*_: object) -> NoReturn:
    raise AssertionError("the kernel was called")


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
