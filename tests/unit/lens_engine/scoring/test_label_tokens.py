"""Tokens of label words, for a bias of each."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lens_engine.scoring.cache.file import PairCache
from lens_engine.scoring.cache.scorer import RememberingScorer
from lens_engine.scoring.label_tokens import find_tokens
from lens_engine.testing import TableScorer


class Tokenising(TableScorer):
    """A scorer whose tokens are the given ones."""

    def __init__(self, *tokens: tuple[int, ...]) -> None:
        super().__init__()
        self.tokens = tokens

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        return list(self.tokens[: len(label_spans)])


@pytest.mark.parametrize(
    ("tokens", "found"),
    [
        (((7,), (3,)), [7, 3]),
        (((7,), (3, 4)), None),  # the word of two tokens is not chosen by its first token alone
        (((7,), (7,)), None),
    ],
)
def test_each_label_word_has_one_token_of_its_own_or_none_is_told(
    tokens: tuple[tuple[int, ...], ...], found: list[int] | None
) -> None:
    assert find_tokens(Tokenising(*tokens), [" good", " bad"]) == found


def test_scorer_that_does_not_know_its_tokens_tells_none() -> None:
    assert find_tokens(TableScorer(), [" good", " bad"]) is None


def test_scorer_behind_a_pair_cache_is_asked(tmp_path: Path) -> None:
    remembering = RememberingScorer(Tokenising((7,), (3,)), PairCache(tmp_path / "pairs.sqlite3", 1 << 20), ())
    assert find_tokens(remembering, [" good", " bad"]) == [7, 3]
