from collections import Counter
from random import Random

from lens_engine.rows.pool_rows import draw_pool
from lens_engine.types import Example

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
