"""Test doubles that honour the engine's contracts, for tests of the engine and of programs that use it.

`TableScorer` is a `LabelScorer` with known answers; it needs no model and no torch. `tiny_causal_lm` builds
random language models of a few thousand weights; the call imports torch and transformers.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lens_engine.model.base import LabelScorer, Prefix, ScorerIdentity
from lens_engine.model.labels import check_distinct
from lens_engine.model.limits import check_finite, check_layers, check_pair_lengths, check_prompt_lengths
from lens_engine.types import POOLINGS, LabelLogProbs, States

if TYPE_CHECKING:
    from lens_engine.model.local.scorer import CausalLMScorer

LogProbTable = Callable[[Prefix, str, str], float]
"""log p(label span | prefix ⊕ query)."""

_WORDS_AND_BREAKS = re.compile(r"\n|\S+")


def hashed_log_prob(prefix: Prefix, query: str, label_span: str) -> float:
    """A log-probability in [-8, 0) (nats) that depends only on the three texts."""
    text = "\x1f".join((*prefix, "\x1e", query, label_span))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -8.0 * (int.from_bytes(digest, "big") + 1) / 2**64


class TableScorer(LabelScorer):
    """A `LabelScorer` that computes its scores by a function of the texts. A token is a whitespace-separated word; in a
    label span a line break is one too.

    Args:
        log_prob: returns the log-probability of one prefix, query and label span; by default a hash of the three.
        before_call: called before each `score` or `score_pairs` with the number of the call (from 0). It may sleep to
            simulate a slow model, or raise to simulate a failure.
        max_prompt_tokens: longer prompts raise `PromptTooLong`.
        name: value of `identity.model`.

    `num_calls` and `num_pairs` count the calls and the pairs scored. `calls` holds (P, Q, L) of each call, and
    (1, pairs, L) of a call of `score_pairs`.
    """

    def __init__(
        self,
        log_prob: LogProbTable = hashed_log_prob,
        *,
        before_call: Callable[[int], None] | None = None,
        max_prompt_tokens: int = 2048,
        name: str = "table",
    ) -> None:
        self._log_prob = log_prob
        self._before_call = before_call
        self.max_prompt_tokens = max_prompt_tokens
        self._name = name
        self.calls: list[tuple[int, int, int]] = []

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity(self._name, revision="0" * 64, dtype="float32", device="cpu", executor="plain")

    @property
    def num_calls(self) -> int:
        return len(self.calls)

    @property
    def num_pairs(self) -> int:
        return sum(prefixes * queries for prefixes, queries, _ in self.calls)

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return [len(segment.split()) for segment in segments]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(_WORDS_AND_BREAKS.findall(span)) for span in label_spans]

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self._check(check_prompt_lengths, prefixes, queries, label_spans)
        pairs = [(prefix, query) for prefix in prefixes for query in queries]
        return self._answer(pairs, (len(prefixes), len(queries)), label_spans)

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        pairs = list(zip(prefixes, queries, strict=True))
        self._check(check_pair_lengths, prefixes, queries, label_spans)
        label_log_probs: LabelLogProbs = self._answer(pairs, (1, len(pairs)), label_spans)[0]
        return label_log_probs

    def _check(
        self,
        check_lengths: Callable[[Sequence[int], Sequence[int], int, int], None],
        prefixes: Sequence[Prefix],
        queries: Sequence[str],
        label_spans: Sequence[str],
    ) -> None:
        check_distinct(label_spans, self.encode_label_spans(label_spans))
        held = [sum(self.count_tokens(prefix)) for prefix in prefixes]
        longest = max(self.count_tokens(label_spans))
        check_lengths(held, self.count_tokens(queries), longest, self.max_prompt_tokens)

    def _answer(
        self, pairs: Sequence[tuple[Prefix, str]], shape: tuple[int, int], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        """`label_log_probs  # [*shape, labels]`; counts a call."""
        if self._before_call is not None:
            self._before_call(self.num_calls)
        self.calls.append((*shape, len(label_spans)))
        values = [self._log_prob(prefix, query, span) for prefix, query in pairs for span in label_spans]
        label_log_probs: LabelLogProbs = np.array(values, dtype=np.float32).reshape(*shape, len(label_spans))
        check_finite(label_log_probs, label_spans)
        return label_log_probs


class StatesTableScorer(TableScorer):
    """A `TableScorer` that also shows hidden states: random vectors that depend only on texts, layer and pooling."""

    num_layers = 4

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        check_layers(layers, self.num_layers)
        self.calls.append((1, len(queries), 0))

        def draw(layer: int, pooling: str, query: str) -> list[float]:
            return [1 + hashed_log_prob(prefix, query, f"{layer} {pooling} {place}") / 4 for place in range(8)]

        found = [[[draw(layer, one, query) for query in queries] for one in POOLINGS] for layer in layers]
        return np.array(found, dtype=np.float32).reshape(len(layers), len(POOLINGS), len(queries), 8)


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
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_TINY_CORPUS, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend, eos_token="<|endoftext|>"
    )
