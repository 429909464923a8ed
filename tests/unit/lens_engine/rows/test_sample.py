"""The sample that advice on a large dataset is worked out on."""

from collections import Counter

from lens_engine.rows.sample import draw_sample


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
