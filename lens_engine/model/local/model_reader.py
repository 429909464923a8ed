"""Reads a model's files with transformers. GGUF is converted to safetensors, once."""

import errno
import io
import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lens_engine.disk import make_once
from lens_engine.errors import ModelError, OutOfMemory, UnreadableModel
from lens_engine.model.local.memory import is_out_of_memory
from lens_engine.model.local.model_files import ModelSource, check_files, first_line, resolve_model
from lens_engine.model.tokenization import SegmentTokenizer

_GELU_IN_STEPS = "NewGELUActivation"  # of transformers: eight operations on the widest tensors of a layer


# This stands among the sources of scoring, because it decides bits: the surroundings of a score digest these sources.
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


# Errors of transformers, gguf and safetensors for files that they cannot read.
_LOADING_FAILURES = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ImportError,
    RuntimeError,
    MemoryError,
    SafetensorError,
    struct.error,  # a GGUF file that is cut off
)
_MACHINE_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM)
_UNSTATED_CONTEXT = 2048  # for architectures without a limit (ALiBi, recurrent)


def open_files(reference: str, cache_dir: Path | None) -> tuple[ModelSource, Path, Any]:
    """The source of a model, the folder with its safetensors, and its tokenizer."""
    source = resolve_model(reference, cache_dir)
    check_files(source)
    folder = _prepare(source, cache_dir)
    return source, folder, _load_tokenizer(folder)


def _prepare(source: ModelSource, cache_dir: Path | None) -> Path:
    if not source.is_gguf:
        return source.path
    with as_model_error(source.path.name):  # also for a full disk
        return make_once(source.revision, lambda folder: _convert_gguf(source.path, folder), cache_dir)


def _convert_gguf(file: Path, folder: Path) -> None:
    """Dequantise a GGUF file to float32 safetensors. This is done once, because transformers needs half a minute."""
    origin = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    with redirect_stderr(io.StringIO()):  # its progress bar cannot be switched off
        model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **origin)
        AutoTokenizer.from_pretrained(file.parent, **origin).save_pretrained(folder)
        config = model.config.to_dict()
    config.pop("quantization_config", None)  # the weights are no longer quantised
    config["architectures"] = [type(model).__name__]
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True), "utf-8")
    save_file(_name_weights(model), folder / "model.safetensors", metadata={"format": "pt"})


def _name_weights(model: Any) -> dict[str, torch.Tensor]:
    """The weights by name. One that is the embedding and the head has the name of the embedding alone.

    transformers reads either name. Other servers take the head for the embedding, and without a message load zeros if
    the weight has the name of the head.
    """
    repeated = dict(model.named_parameters(remove_duplicate=False)).keys() - dict(model.named_parameters()).keys()
    return {name: weight.contiguous() for name, weight in model.state_dict().items() if name not in repeated}


def _load_tokenizer(folder: Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except _LOADING_FAILURES as error:
        raise UnreadableModel(
            f"model {folder.name!r} cannot be loaded: transformers cannot read its tokenizer; put the tokenizer.json "
            "of the model into the folder"
        ) from error


def load_model(folder: Path, dtype: torch.dtype, device: torch.device) -> Any:
    with as_model_error(folder.name):
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True, trust_remote_code=False
        )
        fuse_activations(model)
        return model.to(device).eval().requires_grad_(False)


def segment_tokenizer(tokenizer: Any, name: str) -> SegmentTokenizer:
    if not getattr(tokenizer, "is_fast", False):
        raise UnreadableModel(
            f"model {name!r} cannot be loaded: it has no fast tokenizer; put the tokenizer.json of the model into the "
            "folder"
        )
    return SegmentTokenizer(tokenizer.backend_tokenizer)


def context_length(model: Any) -> int:
    """The context (tokens). A model that also reads images has it in the config of its text part."""
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", None) or _UNSTATED_CONTEXT)


@contextmanager
def as_model_error(name: str) -> Iterator[None]:
    try:
        yield
    except _LOADING_FAILURES as error:
        raise _failure(error)(f"model {name!r} cannot be loaded: {first_line(error)}") from error


def _failure(error: Exception) -> type[ModelError]:
    if is_out_of_memory(error):
        return OutOfMemory
    is_of_the_machine = isinstance(error, OSError) and error.errno in _MACHINE_FAILURES
    return ModelError if is_of_the_machine else UnreadableModel


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """A context without transformers' progress bars, because the caller may draw its own."""
    was_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_enabled:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
