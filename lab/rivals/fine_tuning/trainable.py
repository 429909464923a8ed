"""A language model to be trained: without its head, and in float32."""

from dataclasses import dataclass
from typing import Any

import torch

from lens_engine.local.model_reader import (
    context_length,
    load_model,
    open_files,
    quiet_transformers,
    segment_tokenizer,
)
from lens_engine.local.torch_choices import open_device
from lens_engine.scoring.tokenization import SegmentTokenizer


@dataclass(frozen=True)
class TrainableLM:
    """A language model without its head, to train a classifier on its hidden states."""

    body: Any  #: a torch module in float32; called with token ids [rows, tokens], it gives `last_hidden_state`
    tokenizer: SegmentTokenizer
    max_tokens: int  #: longest prompt (tokens)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.body.parameters()).device
        return device


def load_for_training(model: str, device: str) -> TrainableLM:
    """Load a causal language model in float32, to be trained in place. Arguments as in `load_scorer`.

    Raises:
        UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer`.
    """
    torch_device = open_device(device)
    with quiet_transformers():
        _, folder, tokenizer = open_files(model, None)
        return trainable_from_model(load_model(folder, torch.float32, torch_device), tokenizer, name=model)


def trainable_from_model(model: Any, tokenizer: Any, *, name: str = "in-memory") -> TrainableLM:
    """A `TrainableLM` from a loaded transformers model; both share their weights.

    Raises:
        ModelError: the tokenizer is not a fast one.
    """
    return TrainableLM(model.base_model, segment_tokenizer(tokenizer, name), context_length(model))
