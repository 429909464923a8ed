"""Activations of a model replaced by torch's own, which compute the same formula in one kernel.

This stands among the sources of scoring, because it decides bits: the surroundings of a score digest these sources.
"""

from typing import Any

from torch import nn

_GELU_IN_STEPS = "NewGELUActivation"  # of transformers: eight operations on the widest tensors of a layer


def fuse_activations(model: Any) -> int:
    """Replace the GELU of GPT-2 and its relatives, in place; returns how many were replaced.

    The tanh formula stays the same. Rounding differs: torch computes 16-bit inputs in float32 in between.

    Args:
        model: a torch module. Replace its activations before the executors are checked and used, so that all of them
            compute with the same.
    """
    found = [
        (parent, name)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child).__name__ == _GELU_IN_STEPS
    ]
    for parent, name in found:
        setattr(parent, name, nn.GELU(approximate="tanh"))
    return len(found)
