"""Ways to attend to concatenated sequences, to be checked and timed beside the one in use: all `AttendSequences`."""

import torch
from torch import Tensor

from lens_engine.scoring.executors.attention import attend_portable
from lens_engine.scoring.executors.varlen import AttendSequences, Sequences, attend_varlen


def attend_copies(
    query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """The kernel in use on contiguous copies, to time the copies."""
    return attend_varlen(query.contiguous(), key.contiguous(), value.contiguous(), sequences, scaling, causal)


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


def list_kernels(device: torch.device) -> dict[str, AttendSequences]:
    """The kernels of a device by name, the one in use first. A processor has none, so plain operations stand in."""
    if device.type != "cuda":
        return {"in turn": attend_in_turn}
    return {"in use": attend_varlen, "on copies": attend_copies}
