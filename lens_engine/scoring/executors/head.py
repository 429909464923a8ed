"""The language-model head in float32, on the hidden states of a 16-bit model.

Logits of some tens have steps of an eighth in bfloat16, so two labels are often level that are not.
The head runs at label positions only, and there it costs little to keep its products in float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

_BLOCK_ROWS = 8192
"""Of the vocabulary, widened at a time: some megabytes, where a float32 copy of the head may take gigabytes."""


@contextmanager
def float32_logits(model: Any) -> Iterator[None]:
    """Within it the model gives float32 logits. Nothing changes for a model in float32, or with an unusual head."""
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
    wide = hidden.float()
    if not wide.numel():
        return wide.new_empty(*wide.shape[:-1], head.out_features)
    blocks = (head.weight[start : start + _BLOCK_ROWS] for start in range(0, head.out_features, _BLOCK_ROWS))
    logits = torch.cat([wide @ rows.float().T for rows in blocks], dim=-1)
    return logits if head.bias is None else logits + head.bias.float()
