"""Does the attention kernel keep its contract, and how far is it from attention in float64?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lens_engine.local.executors.attention import attend_portable
from lens_engine.local.executors.varlen import AttendSequences, Sequences, attend_varlen

_SIZES = (64, 128, 256)
_HEADS = ((20, 20), (9, 3))  # query heads, key-value heads
_LARGEST_ERROR = {torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""Largest error of an output that counts as rounding, for inputs of unit variance."""
_LARGEST_NORMALISER_ERROR = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}
_LARGE = 4.0
"""Factor of query and key in the case of large scores, which show products rounded before the scaling."""


@dataclass(frozen=True, slots=True)
class Case:
    """Sequences of one call of the kernel."""

    name: str
    query_lengths: tuple[int, ...]
    key_lengths: tuple[int, ...]
    causal: bool = False
    is_strided: bool = False  #: query, key and value are views of one tensor, as in GPT-2
    factor: float = 1.0  #: of query and key


def list_cases(num_heads: int) -> tuple[Case, ...]:
    own = (1, 7, 64, 485, 1, 130, 25)
    suffixes, prefixes = (25, 1, 400, 77, 3), (28, 1, 485, 254, 129)
    return (
        Case("own segments", own, own, causal=True),
        Case("own segments, strided", own, own, causal=True, is_strided=True),
        Case("own segments, large scores", own, own, causal=True, factor=_LARGE),
        Case("as many tokens as heads", (num_heads - 1, 1), (num_heads - 1, 1), causal=True),
        Case("one token", (1,), (1,), causal=True),
        Case("suffixes to prefixes", suffixes, prefixes),
        Case("suffixes to prefixes, large scores", suffixes, prefixes, factor=_LARGE),
    )


def check_kernels(device: torch.device, *, is_small: bool) -> Iterator[dict[str, Any]]:
    """One finding for each format, size and number of heads: the largest errors, and what is wrong."""
    name, kernel = ("varlen", attend_varlen) if device.type == "cuda" else ("in turn", attend_in_turn)
    dtypes = (torch.float16, torch.bfloat16) if device.type == "cuda" else (torch.float32,)
    for dtype in dtypes:
        for size in _SIZES[:1] if is_small else _SIZES:
            for heads in _HEADS:
                yield check_kernel(name, kernel, dtype, size, heads, device)


def attend_in_turn(
    query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """Plain operations, one sequence after another; runs on every device."""
    outputs, normalisers = [], []
    query_ends, key_ends = sequences.query_ends.tolist(), sequences.key_ends.tolist()
    for index in range(len(query_ends) - 1):
        queries, keys = slice(*query_ends[index : index + 2]), slice(*key_ends[index : index + 2])
        heads = (
            tensor.transpose(0, 1).unsqueeze(0)  # [1, heads, tokens, size]
            for tensor in (query[queries], key[keys], value[keys])
        )
        output, normaliser = attend_portable(*heads, scaling=scaling, causal=causal)
        outputs.append(output[0].transpose(0, 1))
        normalisers.append(normaliser[0].transpose(0, 1))
    return torch.cat(outputs), torch.cat(normalisers)


def check_kernel(
    name: str, kernel: AttendSequences, dtype: torch.dtype, size: int, heads: tuple[int, int], device: torch.device
) -> dict[str, Any]:
    faults, errors, normaliser_errors = [], [0.0], [0.0]
    for case in list_cases(heads[0]):
        try:
            error, normaliser_error, is_same = run_case(kernel, case, dtype, size, heads, device)
        except (RuntimeError, TypeError, ValueError) as failure:
            faults.append(f"{case.name}: {failure!s:.300}")
            continue
        errors.append(error)
        normaliser_errors.append(normaliser_error)
        if not (error <= _LARGEST_ERROR[dtype] and normaliser_error <= _LARGEST_NORMALISER_ERROR[dtype]):
            faults.append(f"{case.name}: output off by {error:.2g}, log-sum-exp by {normaliser_error:.2g}")
        if not is_same:
            faults.append(f"{case.name}: two runs differ")
    return {
        "kernel": name,
        "dtype": str(dtype),
        "size": size,
        "heads": heads,
        "largest error": max(errors),
        "largest error of log-sum-exp": max(normaliser_errors),
        "faults": faults,
    }


def run_case(
    kernel: AttendSequences, case: Case, dtype: torch.dtype, size: int, heads: tuple[int, int], device: torch.device
) -> tuple[float, float, bool]:
    """Largest errors of output and log-sum-exp against float64, and whether a second run gives the same bits.

    Raises:
        ValueError: the kernel returns other shapes or types than its contract says.
    """
    query, key, value = draw_heads(case, dtype, size, heads, device)
    sequences = Sequences.of(case.query_lengths, case.key_lengths, device)
    scaling = size**-0.5
    output, normalisers = kernel(query, key, value, sequences, scaling, case.causal)
    again, normalisers_again = kernel(query, key, value, sequences, scaling, case.causal)
    if output.shape != query.shape or normalisers.shape != query.shape[:2] or normalisers.dtype != torch.float32:
        raise ValueError(f"output {tuple(output.shape)}, log-sum-exp {tuple(normalisers.shape)} {normalisers.dtype}")
    expected, expected_normalisers = attend_exactly(query, key, value, case, scaling)
    return (
        float((output.double() - expected).abs().max()),
        float((normalisers.double() - expected_normalisers).abs().max()),
        torch.equal(output, again) and torch.equal(normalisers, normalisers_again),
    )


def draw_heads(
    case: Case, dtype: torch.dtype, size: int, heads: tuple[int, int], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Random query `[tokens, heads, size]`, key and value `[keys, key-value heads, size]`."""
    generator = torch.Generator().manual_seed(0)
    tokens, keys = sum(case.query_lengths), sum(case.key_lengths)
    num_queries, num_keys = heads
    if case.is_strided:
        together = torch.randn(tokens, num_queries + 2 * num_keys, size, generator=generator).to(device, dtype)
        query, key, value = torch.split(together, [num_queries, num_keys, num_keys], dim=1)
        return query, key, value
    shapes = ((tokens, num_queries), (keys, num_keys), (keys, num_keys))
    query, key, value = (torch.randn(*shape, size, generator=generator) for shape in shapes)
    query, key = query * case.factor, key * case.factor
    return query.to(device, dtype), key.to(device, dtype), value.to(device, dtype)


def attend_exactly(query: Tensor, key: Tensor, value: Tensor, case: Case, scaling: float) -> tuple[Tensor, Tensor]:
    """Attention in float64, sequence after sequence: output `[tokens, heads, size]`, log-sum-exp `[tokens, heads]`."""
    outputs, normalisers = [], []
    query_parts = torch.split(query.double(), list(case.query_lengths))
    key_parts, value_parts = (torch.split(tensor.double(), list(case.key_lengths)) for tensor in (key, value))
    for q, k, v in zip(query_parts, key_parts, value_parts, strict=True):
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = torch.einsum("qhs,khs->hqk", q, k) * scaling  # [heads, queries, keys]
        if case.causal:
            hidden = torch.ones(scores.shape[1:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        outputs.append(torch.einsum("hqk,khs->qhs", scores.softmax(dim=-1), v))
        normalisers.append(scores.logsumexp(dim=-1).T)
    return torch.cat(outputs), torch.cat(normalisers)
