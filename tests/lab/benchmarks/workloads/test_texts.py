"""Synthetic corpora: always the same, as long as they claim, and with labels that show."""

import pytest

from lab.benchmarks.workloads.texts import CORPORA, Corpus, corpus_task, generate_examples


@pytest.mark.parametrize("corpus", CORPORA)
def test_longer_corpus_begins_with_the_shorter(corpus: Corpus) -> None:
    assert generate_examples(corpus, 60)[:40] == generate_examples(corpus, 40)


@pytest.mark.parametrize("corpus", CORPORA)
def test_texts_are_unlike_each_other_and_labels_take_turns(corpus: Corpus) -> None:
    examples, labels = generate_examples(corpus, 500), corpus_task(corpus).labels
    assert len({example.text for example in examples}) == 500
    assert [example.label for example in examples[: 2 * len(labels)]] == [*labels, *labels]
    assert [example.row for example in examples] == list(range(500))


@pytest.mark.parametrize(("corpus", "words"), [("reviews", 20.5), ("news", 50), ("articles", 44.5)])
def test_texts_are_as_long_as_the_tasks_they_stand_for(corpus: Corpus, words: int) -> None:
    lengths = [len(example.text.split()) for example in generate_examples(corpus, 1000)]
    assert sum(lengths) / len(lengths) == pytest.approx(words, abs=2)
    assert max(lengths) > 1.7 * words
