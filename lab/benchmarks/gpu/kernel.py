"""Does the attention kernel keep its contract, and how far is it from attention in float64?"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lens_engine.local.executors.attention import attend_portable
from lens_engine.local.executors.varlen import AttendSequences, Sequences, attend_varlen

_HEADS = ((20, 20), (9, 3))  # query heads, key-value heads
_LARGEST_ERRORS = {torch.float32: (1e-4, 1e-4), torch.float16: (5e-3, 1e-2), torch.bfloat16: (4e-2, 4e-2)}
"""Largest errors of an output and of a log-sum-exp that count as rounding, for inputs of unit variance."""
_LARGE = 4.0
"""Factor of query and key in the case of large scores, which show products rounded before the scaling."""


class Case(NamedTuple):
    """Sequences of one call of the kernel."""

    name: str
    query_lengths: tuple[int, ...]
    key_lengths: tuple[int, ...]
    causal: bool = True
    is_strided: bool = False  #: query, key and value are views of one tensor, as in GPT-2
    factor: float = 1.0  #: of query and key


def list_cases(num_heads: int) -> tuple[Case, ...]:
    own, few = (1, 7, 64, 485, 1, 130, 25), (num_heads - 1, 1)
    suffixes, prefixes = (25, 1, 400, 77, 3), (28, 1, 485, 254, 129)
    return (
        Case("own segments", own, own),
        Case("own segments, strided", own, own, is_strided=True),
        Case("own segments, large scores", own, own, factor=_LARGE),
        Case("as many tokens as heads", few, few),
        Case("one token", (1,), (1,)),
        Case("suffixes to prefixes", suffixes, prefixes, causal=False),
        Case("suffixes to prefixes, large scores", suffixes, prefixes, causal=False, factor=_LARGE),
    )


def check_kernels(device: torch.device, *, is_small: bool) -> Iterator[dict[str, Any]]:
    """One finding for each format, size and number of heads: the largest errors, and what is wrong."""
    is_cuda = device.type == "cuda"
    dtypes = (torch.float16, torch.bfloat16) if is_cuda else (torch.float32,)
    for dtype, size, heads in product(dtypes, (64,) if is_small else (64, 128, 256), _HEADS):
        yield check_kernel(attend_varlen if is_cuda else attend_in_turn, dtype, size, heads, device)


def attend_in_turn(
    query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """Plain operations, one sequence after another; runs on every device."""
    found = []
    query_ends, key_ends = sequences.query_ends.tolist(), sequences.key_ends.tolist()
    for index in range(len(query_ends) - 1):
        queries, keys = slice(*query_ends[index : index + 2]), slice(*key_ends[index : index + 2])
        heads = (
            tensor.transpose(0, 1).unsqueeze(0)  # [1, heads, tokens, size]
            for tensor in (query[queries], key[keys], value[keys])
        )
        found.append([part[0].transpose(0, 1) for part in attend_portable(*heads, scaling=scaling, causal=causal)])
    outputs, normalisers = (torch.cat(parts) for parts in zip(*found, strict=True))
    return outputs, normalisers


def check_kernel(
    kernel: AttendSequences, dtype: torch.dtype, size: int, heads: tuple[int, int], device: torch.device
) -> dict[str, Any]:
    faults, largest = [], [0.0, 0.0]
    for case in list_cases(heads[0]):
        try:
            errors, is_same = run_case(kernel, case, _draw(case, dtype, size, heads, device), size**-0.5)
        except (RuntimeError, TypeError, ValueError) as failure:
            faults.append(f"{case.name}: {failure!s:.300}")
            continue
        largest = list(map(max, largest, errors))
        if not all(error <= most for error, most in zip(errors, _LARGEST_ERRORS[dtype], strict=True)):
            faults.append(f"{case.name}: output off by {errors[0]:.2g}, log-sum-exp by {errors[1]:.2g}")
        if not is_same:
            faults.append(f"{case.name}: two runs differ")
    names = {"dtype": str(dtype), "size": size, "heads": heads, "kernel": kernel.__name__}
    return {**names, "largest errors of output and log-sum-exp": largest, "faults": faults}


def run_case(
    kernel: AttendSequences, case: Case, drawn: tuple[Tensor, ...], scaling: float
) -> tuple[tuple[float, float], bool]:
    """Largest errors of output and log-sum-exp against float64, and whether a second run gives the same bits.

    Raises:
        ValueError: the kernel returns other shapes or types than its contract says.
    """
    query, key, value = drawn
    sequences = Sequences.of(case.query_lengths, case.key_lengths, query.device)
    found, again = (kernel(query, key, value, sequences, scaling, case.causal) for _ in range(2))
    output, normalisers = found
    if output.shape != query.shape or normalisers.shape != query.shape[:2] or normalisers.dtype != torch.float32:
        raise ValueError(f"output {tuple(output.shape)}, log-sum-exp {tuple(normalisers.shape)} {normalisers.dtype}")
    expected = _attend_exactly(query, key, value, case, scaling)
    errors = (float((one.double() - other).abs().max()) for one, other in zip(found, expected, strict=True))
    return (next(errors), next(errors)), all(map(torch.equal, found, again))


def _draw(
    case: Case, dtype: torch.dtype, size: int, heads: tuple[int, int], device: torch.device
) -> tuple[Tensor, ...]:
    """Random query `[tokens, heads, size]`, key and value `[keys, key-value heads, size]`."""
    generator = torch.Generator().manual_seed(0)
    tokens, keys = sum(case.query_lengths), sum(case.key_lengths)
    num_queries, num_keys = heads
    if case.is_strided:
        together = torch.randn(tokens, num_queries + 2 * num_keys, size, generator=generator).to(device, dtype)
        return torch.split(together, [num_queries, num_keys, num_keys], dim=1)
    shapes = ((tokens, num_queries), (keys, num_keys), (keys, num_keys))
    query, key, value = (torch.randn(*shape, size, generator=generator) for shape in shapes)
    return tuple(one.to(device, dtype) for one in (query * case.factor, key * case.factor, value))


def _attend_exactly(query: Tensor, key: Tensor, value: Tensor, case: Case, scaling: float) -> tuple[Tensor, Tensor]:
    """Attention in float64, sequence after sequence: output `[tokens, heads, size]`, log-sum-exp `[tokens, heads]`."""
    outputs, normalisers = [], []
    lengths = (case.query_lengths, case.key_lengths, case.key_lengths)
    parts = (torch.split(one.double(), list(cut)) for one, cut in zip((query, key, value), lengths, strict=True))
    for q, k, v in zip(*parts, strict=True):
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = torch.einsum("qhs,khs->hqk", q, k) * scaling  # [heads, queries, keys]
        if case.causal:
            hidden = torch.ones(scores.shape[1:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        outputs.append(torch.einsum("hqk,khs->qhs", scores.softmax(dim=-1), v))
        normalisers.append(scores.logsumexp(dim=-1).T)
    return torch.cat(outputs), torch.cat(normalisers)
