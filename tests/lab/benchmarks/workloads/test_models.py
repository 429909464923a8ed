"""Random models to measure with: they need no file, and are rounded as loaded models are."""

import numpy as np
import pytest
import torch

from lab.benchmarks.workloads import tokenizer as tokenizers
from lab.benchmarks.workloads.models import random_model, random_shape
from lab.benchmarks.workloads.tokenizer import find_tokenizer, train_tokenizer
from lab.benchmarks.workloads.work import WORKLOADS, build_work
from lens_engine.errors import UnknownModel

CPU = torch.device("cpu")


def test_machine_without_the_bundled_model_trains_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(reference: str, _: object) -> None:
        raise UnknownModel(f"model {reference!r} is not installed")

    monkeypatch.setattr(tokenizers, "open_files", find_nothing)

    assert find_tokenizer().get_vocab() == train_tokenizer().get_vocab()


def test_trained_tokenizer_gives_prompts_as_long_as_those_of_the_paper() -> None:
    tokenizer = train_tokenizer()
    stage_1, long_texts = build_work(WORKLOADS[0]), build_work(WORKLOADS[3])

    def count(text: str) -> int:
        return len(tokenizer(text).input_ids)

    assert np.mean([count(text) for prefix in stage_1.prefixes for text in prefix]) == pytest.approx(28.4, abs=1.0)
    assert np.mean([count(text) for prefix in long_texts.prefixes for text in prefix]) == pytest.approx(61, abs=2.0)
    assert [count(span) for span in stage_1.label_spans] == [1, 1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits_round_the_weights_but_not_the_rotary_frequencies(dtype: torch.dtype) -> None:
    exact, rounded = (random_model(random_shape("tiny"), kind) for kind in (torch.float32, dtype))

    for name, weights in rounded.named_parameters():
        torch.testing.assert_close(weights, exact.get_parameter(name).to(dtype), rtol=0, atol=0)
    frequencies = dict(rounded.named_buffers())["model.rotary_emb.inv_freq"]
    torch.testing.assert_close(frequencies, dict(exact.named_buffers())["model.rotary_emb.inv_freq"], rtol=0, atol=0)
    assert rounded.get_output_embeddings().weight is rounded.get_input_embeddings().weight
