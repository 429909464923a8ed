"""The number formats that are compared, and a scorer in each."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from lens_engine.language_model.loading.load import CausalLMScorer, prepare_model, scorer_from_model


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a model computes: the format of its weights, and what departs from it."""

    name: str
    dtype: torch.dtype
    has_float32_head: bool = False  #: hidden states to logits in float32
    uses_tf32: bool = False  #: products of float32 matrices with 10-bit mantissas; CUDA only


FLOAT32 = NumberFormat("float32", torch.float32)
BFLOAT16 = NumberFormat("bfloat16", torch.bfloat16)
FLOAT16 = NumberFormat("float16", torch.float16)
FORMATS = (
    FLOAT32,
    NumberFormat("tf32", torch.float32, uses_tf32=True),
    BFLOAT16,
    NumberFormat("bfloat16, float32 head", torch.bfloat16, has_float32_head=True),
    FLOAT16,
    NumberFormat("float16, float32 head", torch.float16, has_float32_head=True),
)


def formats_for(device: torch.device) -> tuple[NumberFormat, ...]:
    """The reference first; TF32 and float16 on CUDA only: without hardware for it, float16 takes four times float32."""
    if device.type == "cuda":
        return FORMATS
    return tuple(found for found in FORMATS if found.dtype != torch.float16 and not found.uses_tf32)


@contextmanager
def scorer_in(
    number_format: NumberFormat, model: str, device: torch.device, executor: str = "packed"
) -> Iterator[CausalLMScorer]:
    """The model as a scorer that computes in this format, while the context lasts."""
    folder = prepare_model(model)
    loaded = _load(folder, number_format.dtype, device)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with _tf32(number_format.uses_tf32):
        scorer = scorer_from_model(loaded, tokenizer, name=model, executor=executor)
        (use_float32_head if number_format.has_float32_head else use_head_as_it_is)(loaded)
        yield scorer


def use_float32_head(model: Any) -> None:
    """Let the language-model head compute in float32, on hidden states in the model's own format.

    The weight is copied, so a tied input embedding keeps its format.
    """
    head = copy.deepcopy(model.get_output_embeddings()).float()
    head.register_forward_pre_hook(_cast_to_float32)
    model.set_output_embeddings(head)


def use_head_as_it_is(model: Any) -> None:
    """Let the head compute in the format of its weights, whatever the executor would make of it.

    An executor leaves a head alone that has a `forward` of its own.
    """
    head = model.get_output_embeddings()
    head.forward = head.forward


def _cast_to_float32(_: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(argument.float() for argument in arguments)


def _load(folder: Path, dtype: torch.dtype, device: torch.device) -> Any:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True, local_files_only=True)
    return model.to(device).eval().requires_grad_(False)


@contextmanager
def _tf32(is_on: bool) -> Iterator[None]:
    """Products of float32 matrices on CUDA in TF32, or in full; as it was afterwards."""
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    settings.fp32_precision = "tf32" if is_on else "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before
