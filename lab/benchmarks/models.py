"""Models to measure with: real ones, or random ones of a known shape. Speed does not depend on the weights' values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as kinds
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from lab.benchmarks.texts import CORPORA, corpus_task, generate_examples
from lens_engine.errors import ModelError, UnknownModel
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.model.local.model_reader import fuse_activations, open_files
from lens_engine.model.local.torch_choices import choose_dtype
from lens_engine.model.tokenization import SegmentTokenizer

RANDOM = "random:"
"""Prefix of a reference to a random model."""

_SHAPES: dict[str, dict[str, Any]] = {
    "gpt2-large": {"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20, "n_positions": 1024},
    "smollm2-135m": {
        "model_type": "llama",
        "vocab_size": 49_152,
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
    },
}
# To try the programs themselves. The range is large enough for a prompt's beginning to matter to its end.
_SHAPES["tiny"] = _SHAPES["smollm2-135m"] | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "initializer_range": 0.3,
}
_SHAPES["mini"] = _SHAPES["tiny"] | {"vocab_size": 1200}  # as many as `train_tokenizer` gives, for a fast head
_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in one number format on one device."""

    model: Any
    tokenizer: Any
    segments: SegmentTokenizer

    @property
    def dtype(self) -> str:
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device

    @property
    def context(self) -> int:
        return int(self.model.config.max_position_embeddings)


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """One set of weights, which can be loaded in several number formats."""

    name: str
    tokenizer: Any
    make: Callable[[torch.dtype], Any]
    device: torch.device

    def load(self, dtype: torch.dtype) -> LoadedModel:
        model = self.make(dtype).to(self.device).eval().requires_grad_(False)
        fuse_activations(model)  # as loading does
        return LoadedModel(model, self.tokenizer, SegmentTokenizer(self.tokenizer.backend_tokenizer))


def find_model(reference: str, device: torch.device) -> ModelFamily:
    """The model of a reference as `lens select --model` takes it, or of "random:" and the name of a shape.

    Raises:
        ValueError: there is no such shape.
        UnknownModel, UnsafeModel, ModelError: see `resolve_model`.
    """
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if not reference.startswith(RANDOM):
        _, folder, tokenizer = open_files(reference, None)
        return ModelFamily(reference, tokenizer, lambda dtype: _load(folder, dtype), device)
    shape = reference.removeprefix(RANDOM)
    if shape not in _SHAPES:
        raise ValueError(f"model {reference!r}: there is no shape {shape!r}; known are {', '.join(_SHAPES)}")
    return ModelFamily(reference, find_tokenizer(), partial(random_model, _SHAPES[shape], device=device), device)


def read_dtype(name: str, device: torch.device) -> torch.dtype:
    """A number format by its name in torch; "auto" is the format that a selection takes on this device."""
    if name == "auto":
        return choose_dtype(device)
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def random_shape(name: str, **changes: object) -> dict[str, Any]:
    """The configuration of a shape, for `random_model`."""
    return {**_SHAPES[name], **changes}


def random_model(shape: Mapping[str, Any], dtype: torch.dtype, device: torch.device = _CPU) -> Any:
    """A model of this configuration with the same weights each time, up to rounding to `dtype`.

    The weights are drawn on the device, because a processor needs many seconds for the shape of GPT-2 Large. So each
    kind of device has weights of its own.
    """
    config = AutoConfig.for_model(**shape)
    with torch.random.fork_rng([device] if device.type == "cuda" else []), device:
        torch.manual_seed(0)
        model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    # As if loaded in `dtype`: the frequencies of rotary positions stay in float32, for the angles of far positions.
    for weights in model.parameters():
        weights.data = weights.data.to(dtype)
    model.config.dtype = dtype
    return model


def _load(folder: Any, dtype: torch.dtype) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True, local_files_only=True)


def find_tokenizer() -> Any:
    """The tokenizer of the bundled model; where that is not installed, a small one trained on the synthetic texts."""
    try:
        return open_files(BUNDLED_MODEL, None)[2]
    except (UnknownModel, ModelError, ImportError):
        return train_tokenizer()


def train_tokenizer() -> Any:
    """A byte-level tokenizer whose prompts are about as long as SmolLM2's. It needs no file; it is always the same.

    A demonstration of "reviews" has 27.7 tokens in the mean (SmolLM2: 27.9), of "news" 59.9 (60.6).
    """
    backend = Tokenizer(kinds.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (
        text
        for corpus in CORPORA
        for example in generate_examples(corpus, 400)
        for text in corpus_task(corpus).render_prefix([example])
    )
    backend.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend, eos_token="<|endoftext|>"
    )
