"""Texts and labelled texts in the forms in which callers hold them, as lists. A wrong type is refused at once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.prompt.text_checks import fold_text
from lens_engine.prompt.wording import show_label
from lens_engine.types import Example

_TEXT, _LABEL = "text", "label"
_FORMS = (
    'give rows: (text, label), {"text": …, "label": …} or Example; or columns: a DataFrame with the columns text and '
    "label, or (texts, labels)"
)


def list_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Texts as a list.

    Args:
        texts: a list, tuple, array `[texts]` or Series of strings.
        name: what the caller calls them, for a message.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(f"{name} is a single string, which would be read letter by letter; write [{name}]")
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} is of type {type(texts).__name__}; give a list of strings")
    if getattr(texts, "ndim", 1) != 1:
        raise InvalidDataset(
            f"{name} has the shape {getattr(texts, 'shape', None)}; give one column of texts, such as "
            f'{name}["{_TEXT}"] of a DataFrame or {name}[:, 0] of an array',
            field=name,
        )
    found = list(texts)
    for index, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{index}] is of type {type(text).__name__}; give a string")
        if not text.strip():
            raise InvalidDataset(f"{name}[{index}] is empty; give a text, or leave it out", field=name, row=index)
    return found


def list_examples(given: Iterable[Any], field: str = "dataset") -> Sequence[Example]:
    """Labelled texts as examples; `row` counts from 0. A label may be an integer.

    Args:
        given: rows, each an `Example`, a tuple (text, label) or a mapping with the keys "text" and "label"; or a
            DataFrame or mapping with these columns; or a tuple of two columns: texts and labels, each a list, array or
            Series.
        field: name of the dataset in error messages.
    """
    if isinstance(given, list | tuple) and all(isinstance(one, Example) for one in given):
        return given
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"the {field} is of type {type(given).__name__}; {_FORMS}")
    columns = _find_columns(given, field)
    if columns is None:
        return [_make_example(row, one, field) for row, one in enumerate(given)]
    texts, labels = map(list, columns)
    if len(texts) != len(labels):
        raise InvalidDataset(f"the {field} has {len(texts):,} texts and {len(labels):,} labels", field=field)
    return [_make_example(row, one, field) for row, one in enumerate(zip(texts, labels, strict=True))]


def _find_columns(given: Any, field: str) -> tuple[Iterable[Any], Iterable[Any]] | None:
    """Texts and labels of named columns or of a tuple of two columns; None for rows."""
    names = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    if names is not None:
        if missing := [name for name in (_TEXT, _LABEL) if name not in names]:
            shown = " and no column ".join(map(show_label, missing))
            found = ", ".join(show_label(str(name)) for name in names)
            raise InvalidDataset(
                f"the {field} has no column {shown}; columns found: {found}; rename them, or give "
                "(frame[text_column], frame[label_column])",
                field=field,
            )
        return given[_TEXT], given[_LABEL]
    is_pair = isinstance(given, tuple) and len(given) == 2
    # A tuple is a row, and a string is no column, so `(("a", "x"), ("b", "y"))` are two rows.
    if is_pair and not any(isinstance(one, Example | tuple | str | Mapping) for one in given):
        return given[0], given[1]
    return None


def _make_example(row: int, one: Any, field: str) -> Example:
    if isinstance(one, Example):
        return one
    if isinstance(one, Mapping) and _TEXT in one and _LABEL in one:
        one = (one[_TEXT], one[_LABEL])
    if isinstance(one, str | Mapping) or not isinstance(one, Sequence) or len(one) != 2:
        raise TypeError(f"row {row} of the {field} is of type {type(one).__name__}; {_FORMS}")
    text, label = one
    if isinstance(label, Integral) and not isinstance(label, bool):
        label = str(int(label))
    for name, value in ((_TEXT, text), (_LABEL, label)):
        if value is None or value != value:  # not a number: so pandas writes a missing value
            raise InvalidDataset(
                f"the {name} in row {row} of the {field} is missing; give it, or leave the row out",
                field=f"{field}.{name}",
                row=row,
            )
        if not isinstance(value, str):
            raise TypeError(f"the {name} in row {row} of the {field} is of type {type(value).__name__}; give a string")
    if not text.strip():
        raise InvalidDataset(
            f"the text in row {row} of the {field} is empty; leave the row out", field=f"{field}.text", row=row
        )
    return Example(row, text, label)


def refuse_swapped(examples: Sequence[Example], field: str = "dataset") -> None:
    num_labels, num_texts = (len({getattr(one, name) for one in examples}) for name in (_LABEL, _TEXT))
    if num_labels > 0.8 * len(examples) and 2 * num_texts <= len(examples):
        raise InvalidDataset(
            f"the {len(examples):,} rows have {num_labels:,} labels and {num_texts:,} texts; are the columns of texts "
            "and labels swapped?",
            field=field,
        )


def list_labels(examples: Iterable[Example], *, join_spellings: bool = True) -> list[str]:
    """The labels of these examples, sorted, so that the order of the rows does not matter.

    Args:
        join_spellings: whether labels that differ only in case, spaces or Unicode form count as one, in the most
            frequent spelling, without outer spaces.
    """
    return rank_labels(Counter(example.label for example in examples), join_spellings=join_spellings)


def rank_labels(counts: Mapping[str, int], *, join_spellings: bool = True) -> list[str]:
    """As `list_labels`, from the number of rows of each label."""
    if not join_spellings:
        return sorted(counts)
    spellings: dict[str, Counter[str]] = {}
    for label, rows in counts.items():
        spellings.setdefault(fold_text(label), Counter())[label] = rows
    return sorted(
        max(sorted(counts), key=lambda label: (label.isprintable(), counts[label])).strip()
        for counts in spellings.values()
    )
