import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from lens_engine.classifier import bag_of_words
from lens_engine.classifier.bag_of_words import WordRegression, estimate_accuracy, fit_bag_of_words, pick_rows
from lens_engine.classifier.quality import RowFigures
from lens_engine.types import FloatArray, IndexArray

WORDS = ("rain", "sun", "snow")
GOLD = np.arange(30) % 3
TEXTS = [f"a day of {WORDS[label]} number{row}" for row, label in enumerate(GOLD)]


def predict_by_words(texts: Sequence[str], gold: IndexArray, asked: Sequence[str], num_labels: int) -> FloatArray:
    return fit_bag_of_words(texts, gold, num_labels).regression.class_log_probs(asked)


def test_separable_texts_are_learned() -> None:
    asked = ["nothing but snow", "the sun again", "rain all day", "sun"]

    found = predict_by_words(TEXTS, GOLD, asked, 3)

    assert found.argmax(axis=1).tolist() == [2, 1, 0, 1]
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("first", "labels", "last"),
    [
        (
            ("客服没有回答", "我等了很久了", "麻烦你们看看"),
            ("包裹没有到", "付款失败了", "密码忘记了"),
            ("谢谢", "急", "吗"),
        ),
        (
            ("すみません", "昨日注文した", "今朝また"),
            ("荷物が届かない", "支払いできない", "ログイン不可"),
            ("です", "よ", "か"),
        ),
    ],
)
def test_texts_without_spaces_are_learned(first: Sequence[str], labels: Sequence[str], last: Sequence[str]) -> None:
    texts = [f"{one}{label}{two}" for one in first for two in last for label in labels]  # each of one row

    assert estimate_accuracy(texts, np.arange(len(texts)) % 3, 3).accuracy == 1


def test_order_of_two_words_is_seen() -> None:
    texts = ["not good just bad", "not bad just good"] * 10
    gold = np.array([0, 1] * 10)

    assert predict_by_words(texts, gold, texts, 2).argmax(axis=1).tolist() == gold.tolist()


def test_texts_without_a_word_are_classified() -> None:
    texts = [*TEXTS, "!!!", "?!", "..."]
    gold = np.array([*GOLD, 0, 1, 2])

    found = predict_by_words(texts, gold, ["!!!", "...", ":-)", "unseen"], 3)

    assert np.isfinite(found).all()
    assert found.shape == (4, 3)


@pytest.mark.parametrize("absent", [0, 1, 2, 3])
def test_label_without_a_text_is_never_predicted(absent: int) -> None:
    gold = np.array([label + (label >= absent) for label in GOLD])

    found = predict_by_words(TEXTS, gold, TEXTS, 4)

    assert np.isfinite(found).all()
    assert absent not in found.argmax(axis=1)
    assert found.argmax(axis=1).tolist() == gold.tolist()


def test_held_out_rows_are_predicted_without_their_labels() -> None:
    gold = GOLD.copy()
    gold[0] = 1 - gold[0]  # the word of the text contradicts the label

    held_out = fit_bag_of_words(TEXTS, gold, 3).held_out

    assert held_out.shape == (30, 3)
    assert held_out[0].argmax() == GOLD[0]


def test_terms_of_a_held_out_row_are_not_known_to_its_fold() -> None:
    """A word that one row alone has changes nothing of what is said of the row."""
    other = [*TEXTS[:-1], f"{TEXTS[-1]} unheard"]

    before, after = (fit_bag_of_words(texts, GOLD, 3).held_out for texts in (TEXTS, other))

    np.testing.assert_array_equal(after[-1], before[-1])


def spell(number: int) -> str:
    """A word without a digit."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


@pytest.mark.parametrize(("labels", "terms"), [(2, 500), (20, 50)])
def test_size_of_a_bag_of_words_is_limited(labels: int, terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "_MOST_WEIGHTS", 1_000)
    texts = [" ".join(spell(row % 30 * 20 + word) for word in range(20)) for row in range(60)]

    assert len(fit_bag_of_words(texts, np.arange(60) % labels, labels).regression.terms) == terms


def peak_of(work: Callable[[], object]) -> float:
    """The most memory that Python and numpy hold at once (MiB)."""
    estimate_accuracy(TEXTS, GOLD, 3)  # imports scikit-learn
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_many_rows_of_many_labels_are_fitted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "_MOST_SCORES", 60)

    found = fit_bag_of_words(TEXTS, GOLD, 3)

    alone = fit_bag_of_words(TEXTS[:20], GOLD[:20], 3)  # the labels take turns, so each has its share of the first rows
    assert found.num_rows == 20
    assert (found.regression, found.held_out.dtype) == (alone.regression, np.float32)
    np.testing.assert_array_equal(found.held_out[:20], alone.held_out.astype(np.float32))
    np.testing.assert_array_equal(found.held_out[20:], alone.regression.class_log_probs(TEXTS[20:]).astype(np.float32))


def test_memory_of_a_fit_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = 20_000, 200
    texts, gold = [spell(row % labels) for row in range(rows)], np.arange(rows) % labels
    monkeypatch.setattr(bag_of_words, "_MOST_GRID_ROWS", 200)
    monkeypatch.setattr(bag_of_words, "_MOST_SCORES", 200_000)
    held_out = 4 * rows * labels / 2**20

    assert peak_of(lambda: fit_bag_of_words(texts, gold, labels)) < held_out + 40  # the fit of all takes 180 MiB


def test_estimate_is_of_as_many_rows_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate_accuracy(TEXTS[:15], GOLD[:15], 3)
    monkeypatch.setattr(bag_of_words, "_MOST_ESTIMATE_SCORES", 45)

    found = estimate_accuracy(TEXTS, GOLD, 3)

    assert (found.accuracy, found.num_rows, found.num_labelled) == (whole.accuracy, 15, 30)


def test_each_label_has_its_share_of_the_rows_of_a_fit() -> None:
    gold = np.array([0] * 60 + [1] * 30 + [2] * 10)

    found = pick_rows(gold, 20)

    assert found.tolist() == [*range(12), *range(60, 66), 90, 91]
    assert pick_rows(gold, 500).tolist() == list(range(100))


def test_texts_are_classified_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, rows = 200, 20_000
    texts, gold = [spell(row % labels) for row in range(rows)], np.arange(rows) % labels
    weights = tuple(tuple(row) for row in np.eye(labels).tolist())
    terms = tuple(sorted(map(spell, range(labels))))
    words = WordRegression(terms=terms, idf=(1.0,) * labels, weights=weights, intercepts=(0.0,) * labels)
    found = words.class_log_probs(texts)
    whole = found.nbytes / 2**20

    assert peak_of(lambda: words.class_log_probs(texts)) < 2.2 * whole  # at once it takes three times as much
    assert peak_of(lambda: words.judge(texts, gold)) < 1.2 * whole
    for one, other in zip(words.judge(texts, gold), RowFigures.of(found, gold), strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr("lens_engine.classifier.regression.BLOCK_ROWS", rows)
    np.testing.assert_array_equal(found, words.class_log_probs(texts))
    assert peak_of(lambda: words.class_log_probs(texts)) > 2.2 * whole


@pytest.mark.parametrize(("write", "between", "size"), [(spell, " ", 200), (lambda word: chr(0x4E00 + word), "", 300)])
def test_terms_of_single_rows_take_no_memory(
    monkeypatch: pytest.MonkeyPatch, write: Callable[[int], str], between: str, size: int
) -> None:
    words = np.random.default_rng(0).integers(20_000, size=(500, size)).tolist()
    texts = [between.join(map(write, row)) for row in words]  # nearly each two of them are in one row alone
    monkeypatch.setattr(bag_of_words, "_NUM_BITS", 2**22)
    monkeypatch.setattr(bag_of_words, "_FEW_CHARACTERS", 0)

    assert peak_of(lambda: bag_of_words._choose_terms(texts, 50_000)) < 12  # all terms take 16 and 41 MiB


def test_terms_of_large_texts_are_those_of_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*TEXTS, "one row alone has this", "and !!! this"]
    gold = np.arange(len(texts)) % 3
    small = fit_bag_of_words(texts, gold, 3).regression

    monkeypatch.setattr(bag_of_words, "_FEW_CHARACTERS", 0)

    assert fit_bag_of_words(texts, gold, 3).regression == small


def test_most_frequent_terms_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "_MOST_TERMS", 500)
    texts = [f"x{spell(row)} seldom{spell(row)}" for row in range(170)] * 2 + ["often"] * 3

    terms = fit_bag_of_words(texts, np.arange(len(texts)) % 2, 2).regression.terms

    assert len(terms) == 500
    assert "often" in terms
    assert "seldoma" in terms  # of equally frequent terms, the first by their characters
    assert f"x{spell(99)}" not in terms


def test_long_terms_are_left_out() -> None:
    texts = [f"{'!' * 4_000}{mark}" for mark in "!?.;,:"] * 3

    assert fit_bag_of_words([*texts, "so", "so"], np.arange(20) % 2, 2).regression.terms == ("!!!!*", "so")
    assert fit_bag_of_words(texts, np.arange(18) % 2, 2).regression.terms == ("!!!!*",)


def test_beginnings_tell_of_words_that_were_not_seen() -> None:
    texts = ["refunding me", "a refund", "charger broken", "the charging stops"] * 3
    found = predict_by_words(texts, np.array([0, 0, 1, 1] * 3), ["refunds", "recharged", "charged"], 2)

    assert found[[0, 2]].argmax(axis=1).tolist() == [0, 1]


def test_numbers_and_words_of_one_row_are_no_terms() -> None:
    texts = [
        f"Order {48213 + row} of {name} is late, ref ab{row}c" for row, name in enumerate(["Benedikta", "Olu"] * 2)
    ]
    texts += ["my parcel", "my order from Aurelio"]

    terms = fit_bag_of_words(texts, np.array([0, 0, 1, 1, 0, 1]), 2).regression.terms

    assert {"order", "my", "order 0", "0 of", "late ref", "ref 0", "benedikta"} <= set(terms)
    assert {word for term in terms for word in term.split() if any(map(str.isdigit, word))} == {"0"}
    assert not {"aurelio", "order from", "parcel"} & set(terms)


def test_rows_without_a_common_word_have_the_shares_of_the_labels() -> None:
    words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]
    found = fit_bag_of_words(words, np.array([0, 0, 0, 1] * 2), 2)

    assert found.regression.terms == ("0",)
    np.testing.assert_allclose(
        np.exp(found.regression.class_log_probs(["ant", "dog 48213"])), [[0.75, 0.25]] * 2, rtol=1e-5
    )
    np.testing.assert_allclose(np.exp(found.held_out).sum(axis=1), 1.0)
