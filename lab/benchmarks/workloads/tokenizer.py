"""Tokenizers for models with random weights: of the bundled model, or trained on the synthetic texts."""

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lab.benchmarks.workloads.texts import CORPORA, corpus_task, generate_examples
from lens_engine.errors import ModelError, UnknownModel
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.local.model_reader import open_files

_VOCABULARY = 1200
"""With this size a demonstration of "reviews" has 27.7 tokens in the mean (SmolLM2: 27.9), of "news" 59.9 (60.6)."""
_ROWS = 400
"""Texts of each corpus that the tokenizer is trained on."""


def find_tokenizer() -> Any:
    """The tokenizer of the bundled model; where that is not installed, a small one trained on the synthetic texts."""
    try:
        _, _, tokenizer = open_files(BUNDLED_MODEL, None)
        return tokenizer
    except (UnknownModel, ModelError, ImportError):
        return train_tokenizer()


def train_tokenizer() -> Any:
    """A byte-level tokenizer whose prompts are about as long as SmolLM2's. It needs no file; it is always the same."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (
        text
        for corpus in CORPORA
        for example in generate_examples(corpus, _ROWS)
        for text in corpus_task(corpus).render_prefix([example])
    )
    backend.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend, eos_token="<|endoftext|>"
    )
