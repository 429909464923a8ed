"""The number format that `dtype="auto"` stands for: bfloat16 where the device has units for it, else float32.

docs/decisions/0008-number-formats.md has what 16 bits change, and what the rule costs.
"""

import torch


def choose_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 on a GPU that multiplies it, and on a processor with AMX; else float32."""
    return torch.bfloat16 if _multiplies_bfloat16(device) else torch.float32


def _multiplies_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Of processors with AVX512_BF16 alone, some take twice as long in bfloat16 as in float32.
    return device.type == "cpu" and torch.cpu._is_amx_tile_supported()
