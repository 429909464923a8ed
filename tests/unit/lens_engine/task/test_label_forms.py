import pytest

from lens_engine.task.label_forms import Likeness, compare_labels, find_likeness, fold_labels, normal_form


@pytest.mark.parametrize(
    ("label", "other", "ways", "options"),
    [
        ("Refund", "refund", ("case",), ("casefold",)),
        ("STRASSE", "straße", ("case",), ("casefold",)),
        ("refund ", "refund", ("spaces",), ("strip",)),
        ("on\u00a0 time", "on time", ("spaces",), ("strip",)),
        ("cafe\u0301", "caf\u00e9", ("Unicode form",), ("strip",)),
        (" Refund", "refund", ("case", "spaces"), ("casefold", "strip")),
        ("CAFE\u0301", "caf\u00e9", ("case", "Unicode form"), ("casefold", "strip")),
        (" cafe\u0301", "caf\u00e9", ("spaces", "Unicode form"), ("strip",)),
        (" CAFE\u0301", "caf\u00e9", ("case", "spaces", "Unicode form"), ("casefold", "strip")),
    ],
)
def test_difference_is_named_with_the_options_that_remove_it(
    label: str, other: str, ways: tuple[str, ...], options: tuple[str, ...]
) -> None:
    likeness = compare_labels(label, other)

    assert likeness == Likeness(other, ways)
    assert likeness.options == options
    chosen = {name: name in options for name in ("strip", "casefold")}
    assert normal_form(label, **chosen) == normal_form(other, **chosen)


def test_other_words_are_not_alike() -> None:
    assert compare_labels("refunds", "refund") is None
    assert find_likeness("refunds", fold_labels(["refund", "other"])) is None


def test_look_alike_is_found_among_labels() -> None:
    assert find_likeness("Other", fold_labels(["refund", "other"])) == Likeness("other", ("case",))


def test_without_options_a_label_is_as_it_stands() -> None:
    assert normal_form(" Cafe\u0301 ", strip=False, casefold=False) == " Cafe\u0301 "
