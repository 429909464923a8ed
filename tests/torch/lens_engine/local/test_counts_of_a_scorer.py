"""Counts of tokens are those of the scorer."""

from pathlib import Path

from lens_engine.local.token_counter import find_token_counter
from lens_engine.testing import tiny_causal_lm


def test_counts_are_those_of_the_scorer(tmp_path: Path) -> None:
    from lens_engine.local.load import load_scorer

    folder = str(tiny_causal_lm("llama").save(tmp_path))
    texts = ["It was great.", " great", "great  terrible\n", "", "<|endoftext|> naïve 日本", "great " * 3_000]

    count_tokens = find_token_counter(folder)

    assert count_tokens is not None
    scorer = load_scorer(folder, dtype="float32", device="cpu", executor="plain")
    assert count_tokens(texts * 500) == scorer.count_tokens(texts) * 500
