"""Suspicious labels: which rows, in which order, and for whom."""

import csv
import io
import tracemalloc

import numpy as np
import pytest

from lens_engine.classifier.candidates import MOST_SUSPICIOUS, find_suspicious
from lens_engine.exports.formats import write_suspicious_labels

LABELS = ("a", "b", "c")


def log_probs(*rows: tuple[float, ...]) -> np.ndarray:
    return np.log(np.array(rows))


SURE = [(0.8, 0.1, 0.1), (0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.2, 0.7, 0.1)]


def test_confident_contradictions_are_listed_the_surest_first() -> None:
    found = find_suspicious(
        log_probs(*SURE, (0.1, 0.75, 0.15), (0.05, 0.9, 0.05)),
        np.array([0, 0, 1, 1, 0, 0]),
        [10, 11, 12, 13, 14, 15],
        LABELS,
    )
    assert [(one.row, one.label, one.likelier) for one in found] == [(15, "a", "b"), (14, "a", "b")]
    assert (found[0].probability, found[0].probability_of_likelier) == pytest.approx((0.05, 0.9))


def test_doubtful_contradiction_is_not_listed() -> None:
    doubtful = (0.4, 0.6, 1e-9)  # below the mean probability of b over the rows of b
    assert find_suspicious(log_probs(*SURE, doubtful), np.array([0, 0, 1, 1, 0]), range(5), LABELS) == ()


def test_label_that_no_row_has_is_never_likelier() -> None:
    found = find_suspicious(log_probs(*SURE, (0.01, 0.01, 0.98)), np.array([0, 0, 1, 1, 0]), range(5), LABELS)
    assert found == ()


def test_list_has_an_end_and_equal_rows_keep_their_order() -> None:
    number = MOST_SUSPICIOUS + 50
    rows = [(0.9, 0.1, 1e-9)] * 1000 + [(0.1, 0.9, 1e-9)] * 1000 + [(0.05, 0.95, 1e-9)] * number
    gold = np.array([0] * 1000 + [1] * 1000 + [0] * number)
    found = find_suspicious(log_probs(*rows), gold, range(len(rows)), LABELS)
    assert [one.row for one in found] == list(range(2000, 2000 + MOST_SUSPICIOUS))


def test_probabilities_of_many_rows_are_not_copied() -> None:
    rows, labels = 20_000, 200
    given = np.full((rows, labels), np.log(1 / labels))
    find_suspicious(given[:1], np.array([0]), range(1), [str(n) for n in range(labels)])
    tracemalloc.start()
    find_suspicious(given, np.arange(rows) % labels, range(rows), [str(n) for n in range(labels)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.8 * given.nbytes


def test_csv_has_the_texts_and_no_formula() -> None:
    found = find_suspicious(
        log_probs(*SURE, (0.05, 0.9, 0.05)), np.array([0, 0, 1, 1, 0]), [3, 4, 5, 6, 7], ("=a", "b", "c")
    )
    rows = list(csv.DictReader(io.StringIO(write_suspicious_labels(found, {7: '+"x",\ny'}))))
    assert rows == [
        {
            "row": "7",
            "text": '\'+"x",\ny',
            "label": "'=a",
            "likelier": "b",
            "probability": "0.05",
            "probability_of_likelier": "0.9",
        }
    ]
