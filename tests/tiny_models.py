"""Random language models of a few thousand weights. The call imports torch and transformers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from lens_engine.model.local.scorer import CausalLMScorer

TinyArchitecture = Literal["gpt2", "gpt_neo", "llama", "qwen2", "qwen3", "gemma3_text", "mistral"]
TINY_ARCHITECTURES: tuple[TinyArchitecture, ...] = ("gpt2", "gpt_neo", "llama", "qwen2", "qwen3")

TINY_CONTEXT = 512
TINY_LOCAL_WINDOW = 16
"""Window of the local attention layers of the tiny GPT-Neo (tokens)."""

_TINY_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": TINY_CONTEXT,
}
_TINY_SETTINGS: dict[TinyArchitecture, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": TINY_CONTEXT},
    "gpt_neo": {
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": TINY_LOCAL_WINDOW,
        "max_position_embeddings": TINY_CONTEXT,
    },
    "llama": _TINY_SIZES,
    "qwen2": {name: value for name, value in _TINY_SIZES.items() if name != "head_dim"},
    "qwen3": _TINY_SIZES,
    "gemma3_text": {**_TINY_SIZES, "query_pre_attn_scalar": 8},
    "mistral": _TINY_SIZES,
}
_TINY_CORPUS = (
    "great terrible great terrible great terrible good bad good bad good bad",
    "It was great. It was terrible. It was good. It was bad.",
)


@dataclass(frozen=True, slots=True)
class TinyCausalLM:
    """A transformers model with random weights, and its tokenizer."""

    model: Any
    tokenizer: Any

    def scorer(self, executor: str = "auto") -> "CausalLMScorer":
        """A scorer over this model, in float32 on the CPU."""
        from lens_engine.model.local.load import scorer_from_model

        return scorer_from_model(self.model, self.tokenizer, name="tiny", executor=executor)

    def save(self, folder: Path) -> Path:
        """Write the model to `folder`, which `load_scorer` can load; returns `folder`."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return folder


def tiny_causal_lm(architecture: TinyArchitecture, *, seed: int = 0, **settings: Any) -> TinyCausalLM:
    """A random model with two layers and a byte-level tokenizer; equal arguments give equal weights.

    " great" and " terrible" are one token each; most other words are several tokens. The weights are so large that
    the first tokens of a prompt change the scores at its end. `settings` are passed to the model's config.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = _tiny_tokenizer()
    config = AutoConfig.for_model(
        architecture,
        vocab_size=len(tokenizer),
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
        **{**_TINY_SETTINGS[architecture], **settings},
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return TinyCausalLM(model.eval().requires_grad_(False), tokenizer)


def _tiny_tokenizer() -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=train_byte_level(_TINY_CORPUS, 320), eos_token="<|endoftext|>"
    )


def train_byte_level(corpus: Sequence[str], vocab_size: int) -> "Tokenizer":
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(corpus, trainer)
    return backend
