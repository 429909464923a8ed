"""Experiments with number formats change what they say, on a real (tiny) model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.studies.number_formats import formats_for, scorer_in, use_float32_head, use_head_as_it_is
from lens_engine.language_model.loading.load import scorer_from_model
from lens_engine.testing import TinyCausalLM, tiny_causal_lm
from lens_engine.types import LabelLogProbs

PREFIXES = [(), ("It was great.\n",)]
QUERIES = ["good good bad It was", "great great It was", "bad It was"]
SPANS = [" great", " terrible"]


@pytest.fixture
def tiny() -> TinyCausalLM:
    return tiny_causal_lm("llama", tie_word_embeddings=True)


def score(tiny: TinyCausalLM) -> LabelLogProbs:
    return scorer_from_model(tiny.model, tiny.tokenizer, executor="packed").score(PREFIXES, QUERIES, SPANS)


def test_float32_head_makes_float32_logits_and_leaves_a_tied_embedding(tiny: TinyCausalLM) -> None:
    model = tiny.model.to(torch.bfloat16)
    embedding = model.get_input_embeddings().weight

    use_float32_head(model)

    assert model(torch.tensor([[5, 6]])).logits.dtype == torch.float32
    assert model.get_input_embeddings().weight is embedding
    assert embedding.dtype == torch.bfloat16
    assert torch.equal(model.get_output_embeddings().weight, embedding.float())


def test_float32_head_changes_nothing_in_float32(tiny: TinyCausalLM) -> None:
    before = score(tiny)

    use_float32_head(tiny.model)

    assert np.array_equal(score(tiny), before)


def test_float32_head_keeps_the_logits_from_being_rounded(tiny: TinyCausalLM) -> None:
    model = tiny.model.to(torch.bfloat16)
    prompt = torch.tensor([[5, 6, 7]])
    rounded = model(prompt).logits

    use_float32_head(model)
    logits = model(prompt).logits

    assert not torch.equal(logits, logits.bfloat16().float())
    assert torch.allclose(logits, rounded.float(), rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize(("prepare", "dtype"), [(use_head_as_it_is, torch.bfloat16), (use_float32_head, torch.float32)])
def test_head_computes_in_the_format_asked_for_while_scoring(
    tiny: TinyCausalLM, prepare: Callable[[Any], None], dtype: torch.dtype
) -> None:
    seen = set()
    prepare(tiny.model.to(torch.bfloat16))
    tiny.model.get_output_embeddings().register_forward_hook(lambda _, __, logits: seen.add(logits.dtype))

    score(tiny)

    assert seen == {dtype}


def test_slow_formats_are_only_for_cuda_and_the_reference_comes_first() -> None:
    on_cpu, on_cuda = (formats_for(torch.device(device)) for device in ("cpu", "cuda"))

    assert {found.name for found in on_cuda if found not in on_cpu} == {"tf32", "float16", "float16, float32 head"}
    assert on_cpu[0].name == on_cuda[0].name == "float32"


def test_setting_of_tf32_holds_while_the_scorer_does(
    tiny: TinyCausalLM, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tiny.save(tmp_path_factory.mktemp("tiny")))
    [tf32] = [found for found in formats_for(torch.device("cuda")) if found.uses_tf32]
    before = torch.backends.cuda.matmul.fp32_precision

    with scorer_in(tf32, folder, torch.device("cpu")) as scorer:
        during = torch.backends.cuda.matmul.fp32_precision
        scores = scorer.score(PREFIXES, QUERIES, SPANS)

    assert (during, torch.backends.cuda.matmul.fp32_precision) == ("tf32", before)
    assert np.array_equal(scores, score(tiny))  # on the CPU it changes nothing
