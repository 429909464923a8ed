from dataclasses import replace
from typing import Any

import pytest

from lab.benchmarks import models
from lab.benchmarks.compare import choose_sample
from lab.benchmarks.models import find_tokenizer, train_tokenizer
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
def test_sample_is_what_fits_the_time_and_not_too_small(seconds_per_pair: float, smallest: int, pairs: int) -> None:
    work, engine = build_work(SMALL), TimedEngine(seconds_per_pair, smallest)
    assert choose_sample(engine, work, 1.2, clock=lambda: engine.now)[0] == work.part(1, pairs)


@pytest.mark.parametrize("corpus", CORPORA)
def test_texts_are_unlike_each_other_and_labels_take_turns(corpus: Corpus) -> None:
    examples, labels = generate_examples(corpus, 500), corpus_task(corpus).labels
    assert len({example.text for example in examples}) == 500
    assert [example.label for example in examples[: 2 * len(labels)]] == [*labels, *labels]
    assert [example.row for example in examples] == list(range(500))
    assert generate_examples(corpus, 60) == examples[:60]


def test_machine_without_the_bundled_model_trains_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(reference: str, _: object) -> None:
        raise UnknownModel(f"model {reference!r} is not installed")

    monkeypatch.setattr(models, "open_files", find_nothing)

    assert find_tokenizer().get_vocab() == train_tokenizer().get_vocab()
