"""The sample that advice on a large dataset is worked out on."""

from collections import Counter
from random import Random

from lens_engine.rows.dealing import draw_pool
from lens_engine.rows.report import draw_sample
from lens_engine.types import Example


def test_rows_that_fit_are_all_taken() -> None:
    assert draw_sample([("a", 5), ("b", 5)], 2, 10) == [0, 1]


def test_sample_has_as_many_rows_as_allowed_and_is_always_the_same() -> None:
    rows = [("a" if index % 10 else "b", 1) for index in range(1000)]
    drawn = draw_sample(rows, 100, 1000)
    assert len(drawn) == len(set(drawn)) == 100
    assert drawn == sorted(drawn) == draw_sample(rows, 100, 1000)


def test_rare_labels_keep_their_rows() -> None:
    rows = [("rare", 1)] * 3 + [("common", 1)] * 5000
    counts = Counter(rows[index][0] for index in draw_sample(rows, 100, 10**6))
    assert counts == {"rare": 3, "common": 97}


def test_every_label_has_a_row_where_characters_are_few() -> None:
    rows = [(f"label {index % 20}", 100) for index in range(1000)]
    drawn = draw_sample(rows, 1000, 2500)
    assert len(drawn) == 25
    assert len({rows[index][0] for index in drawn}) == 20


def test_one_row_is_drawn_however_long_it_is() -> None:
    assert len(draw_sample([("a", 100), ("b", 100)], 10, 50)) == 1


LABELS = ["a"] * 60 + ["b"] * 39 + ["c"]
EXAMPLES = [Example(10 * place, f"text {place}", label) for place, label in enumerate(LABELS)]


def test_all_rows_are_the_pool_where_they_fit() -> None:
    drawn = draw_pool(EXAMPLES[::-1], 0, 100)

    assert [row.row for row in drawn.pool.rows] == list(range(0, 1000, 10))
    assert drawn.left_out == 0


def test_sample_of_more_rows_has_the_labels_in_proportion() -> None:
    drawn = draw_pool(EXAMPLES, 0, 20)

    assert Counter(row.label for row in drawn.pool.rows) == {"a": 12, "b": 7, "c": 1}
    assert drawn.left_out == 80
    assert {(row.row, row.text, row.label) for row in drawn.pool.rows} <= {
        (one.row, one.text, one.label) for one in EXAMPLES
    }


def test_sample_depends_on_the_seed_and_not_on_the_order_of_the_rows() -> None:
    shuffled = Random(1).sample(EXAMPLES, len(EXAMPLES))

    assert draw_pool(shuffled, 3, 20) == draw_pool(EXAMPLES, 3, 20)
    assert draw_pool(EXAMPLES, 4, 20) != draw_pool(EXAMPLES, 3, 20)
