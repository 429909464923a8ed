"""Workloads and the samples taken of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lab.benchmarks import models
from lab.benchmarks.compare import choose_sample
from lab.benchmarks.models import find_tokenizer, random_model, random_shape, train_tokenizer
from lab.benchmarks.texts import CORPORA, Corpus, corpus_task, generate_examples
from lab.benchmarks.workloads import WORKLOADS, Work, WorkloadSpec, build_work, part_of_pairs
from lens_engine.errors import UnknownModel

SMALL = WorkloadSpec("small", "a small one", "reviews", demonstrations=3, prefixes=4, queries=10)


class TimedEngine:
    """Takes a known time for each pair, by a clock of its own."""

    name, note, loaded, shares_prefixes = "timed", "", None, False

    def __init__(self, seconds_per_pair: float, smallest_sample: int) -> None:
        self.seconds_per_pair, self.smallest_sample, self.now = seconds_per_pair, smallest_sample, 0.0

    def prepare(self, work: Work) -> Any:
        def run() -> None:
            self.now += work.num_pairs * self.seconds_per_pair

        return run


@pytest.mark.parametrize("spec", WORKLOADS, ids=lambda spec: spec.key)
def test_workload_has_the_shape_it_claims(spec: WorkloadSpec) -> None:
    work = build_work(spec)
    assert (len(work.prefixes), len(work.queries)) == (spec.prefixes, spec.queries)
    assert {len(prefix) for prefix in work.prefixes} == {spec.demonstrations}
    assert len(set(work.prefixes)) == spec.prefixes
    assert build_work(spec) == work


def test_part_is_spread_evenly_over_the_lengths() -> None:
    queries = tuple("x" * length for length in (9, 1, 8, 2, 7, 3, 6, 4, 5))
    work = replace(build_work(SMALL), queries=queries)
    assert [len(query) for query in work.part(1, 3).queries] == [8, 2, 5]
    assert work.part(4, 9) == work
    assert work.part(99, 99) == work


@pytest.mark.parametrize(
    ("pairs", "whole_prefixes", "expected"),
    [
        (25, True, (2, 10)),
        (3, True, (1, 10)),
        (3, False, (1, 3)),
        (0.1, False, (1, 1)),
        (31, False, (3, 10)),
        (999, False, (4, 10)),
    ],
)
def test_pairs_become_prefixes_and_queries(pairs: float, whole_prefixes: bool, expected: tuple[int, int]) -> None:
    part = part_of_pairs(build_work(SMALL), pairs, whole_prefixes=whole_prefixes)
    assert (len(part.prefixes), len(part.queries)) == expected


@pytest.mark.parametrize(("seconds_per_pair", "smallest", "pairs"), [(0.2, 2, 6), (60.0, 8, 8)])
def test_sample_is_what_fits_the_time_and_no_smaller_than_the_engine_wants(
    seconds_per_pair: float, smallest: int, pairs: int
) -> None:
    work, engine = build_work(SMALL), TimedEngine(seconds_per_pair, smallest)
    assert choose_sample(engine, work, 1.2, clock=lambda: engine.now)[0] == work.part(1, pairs)


@pytest.mark.parametrize("corpus", CORPORA)
def test_texts_are_unlike_each_other_and_labels_take_turns(corpus: Corpus) -> None:
    examples, labels = generate_examples(corpus, 500), corpus_task(corpus).labels
    assert len({example.text for example in examples}) == 500
    assert [example.label for example in examples[: 2 * len(labels)]] == [*labels, *labels]
    assert [example.row for example in examples] == list(range(500))
    assert generate_examples(corpus, 60) == examples[:60]


@pytest.mark.parametrize(("corpus", "words"), [("reviews", 20.5), ("news", 50), ("articles", 44.5)])
def test_texts_are_as_long_as_the_tasks_they_stand_for(corpus: Corpus, words: int) -> None:
    lengths = [len(example.text.split()) for example in generate_examples(corpus, 1000)]
    assert sum(lengths) / len(lengths) == pytest.approx(words, abs=2)
    assert max(lengths) > 1.7 * words


def test_machine_without_the_bundled_model_trains_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(reference: str, _: object) -> None:
        raise UnknownModel(f"model {reference!r} is not installed")

    monkeypatch.setattr(models, "open_files", find_nothing)

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
