import pytest

from lens_engine.errors import InvalidVerbalizer
from lens_engine.scoring.labels import build_label_trie


def test_single_token_labels_feed_nothing() -> None:
    trie = build_label_trie(["a", "b"], [(5,), (7,)])

    assert trie.num_fed == 0
    assert trie.reads == (((0, 5),), ((0, 7),))
    assert trie.chains() == ((),)


def test_shared_beginnings_are_fed_once() -> None:
    trie = build_label_trie(["ab", "abc", "ad", "e"], [(1, 2), (1, 2, 3), (1, 4), (5,)])

    assert trie.tokens == (-1, 1, 2)  # (), (1), (1, 2)
    assert trie.parents == (-1, 0, 1)
    assert trie.depths == (0, 1, 2)
    assert trie.reads[1] == ((0, 1), (1, 2), (2, 3))
    assert trie.reads[2] == ((0, 1), (1, 4))
    assert trie.longest_span == 3


def test_branches_make_a_chain_each() -> None:
    trie = build_label_trie(["x", "y", "z"], [(1, 2, 3), (1, 4, 5), (6, 7)])

    assert trie.num_fed == 4
    assert [tuple(trie.tokens[node] for node in chain) for chain in trie.chains()] == [(1, 2), (1, 4), (6,)]


@pytest.mark.parametrize(
    ("spans", "tokens", "message"),
    [
        ([" good", " bad", " Good"], [(1,), (2,), (1,)], "' good' and ' Good'"),
        ([" good", ""], [(1,), ()], "has no tokens"),
        ([], [], "no label words"),
    ],
)
def test_words_that_the_model_cannot_tell_apart_are_refused(
    spans: list[str], tokens: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(InvalidVerbalizer, match=message) as refusal:
        build_label_trie(spans, tokens)
    assert refusal.value.field == "verbalizer"
