"""The language-model head in float32, on the hidden states of a 16-bit model.

In bfloat16, logits of about 30 have steps of 1/8, so different labels often get equal logits. The head runs
only at label positions, so float32 products there cost little.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

_BLOCK_ROWS = 8192
"""Rows of the head converted at a time: some megabytes. A float32 copy of the whole head may take gigabytes."""


@contextmanager
def float32_logits(model: Any) -> Iterator[None]:
    """A context in which the model gives float32 logits. It has no effect on a float32 model or an unusual head."""
    head = model.get_output_embeddings()
    if not isinstance(head, nn.Linear) or head.weight.dtype == torch.float32 or "forward" in vars(head):
        yield
        return
    head.forward = partial(project, head)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del head.forward


def project(head: nn.Linear, hidden: Tensor) -> Tensor:
    """`logits  # [..., vocabulary]` float32 of `hidden  # [..., size]`."""
    flat = hidden.flatten(0, -2)
    if flat.is_cuda and flat.dtype == head.weight.dtype and len(flat) > 0:  # exact products, and many times as fast
        logits = torch.mm(flat, head.weight.T, out_dtype=torch.float32)
    else:
        logits = _multiply_in_blocks(flat.float(), head.weight)
    if head.bias is not None:
        logits += head.bias.float()
    return logits.view(*hidden.shape[:-1], head.out_features)


def _multiply_in_blocks(hidden: Tensor, weights: Tensor) -> Tensor:
    logits = hidden.new_empty(len(hidden), len(weights))
    for start in range(0, len(weights), _BLOCK_ROWS):
        end = start + _BLOCK_ROWS
        logits[:, start:end] = hidden @ weights[start:end].float().T
    return logits
