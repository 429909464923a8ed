"""The columns of a table by their names: the usual ones, the one that is meant, and whether a first line has names.

The usual names are in English, French, German, Spanish, Italian and Portuguese; the earlier is preferred.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from statistics import mean

from lens_engine.errors import InvalidDataset
from lens_engine.reading.table import LABEL, TEXT, Table, WantedColumns, list_columns
from lens_engine.task.terms import count_unspaced
from lens_engine.task.text_checks import show_names
from lens_engine.task.unicode_form import fold_text
from lens_engine.task.wording import show_label

MAX_COLUMNS = 1_000
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are looked for, with their names."""
POSITION = re.compile(r"column ([1-9]\d{0,3})")
"""The name of a column without one, by its place."""

_words = re.compile(r"\w+").findall
TEXT_NAMES: list[str] = _words("""
    text texts sentence message tweet utterance query content question review comment comment_text body sms document
    reviewtext utt feedback abstract description post prompt input headline title transcript email excerpt passage turn
    texte message commentaire avis phrase contenu kommentar nachricht bewertung satz inhalt beschreibung frage
    texto mensaje comentario reseña frase contenido pregunta testo messaggio commento recensione domanda
    mensagem comentário avaliação conteúdo pergunta
""")
LABEL_NAMES: list[str] = [
    *_words("""
    label labels class category categories topic intent sentiment emotion polarity stance target kind type tag gold
    gold_label annotation airline_sentiment stars star_rating rating overall answer output completion accept score y
    étiquette classe catégorie thème intention etikett klasse kategorie thema absicht stimmung typ
    etiqueta clase categoría tema intención sentimiento tipo etichetta categoria argomento intento sentimento
    rótulo intenção
"""),
    "issue type",
    "ticket type",
]
_PARTS = {
    TEXT: ("_text", "text_"),
    LABEL: ("is_", "label_", "_label", "_class", "_category", "_intent", "_sentiment"),
}
"""Beginnings and ends of further names."""
ABOUT_ROWS = re.compile(
    r"(?:.*[_ ])?(?:id|ids|index|key|no|nr|number|user|author|speaker|source|split|fold|lang|language|date|time|year|"
    r"season|episode|page|chapter|country|gender|age|name|length|hash|url)",
    re.IGNORECASE,
)
"""Names of columns that rarely hold texts or labels, though their values recur."""
SPLITS = {
    *["train", "training", "test", "testing", "dev", "devel", "development", "val", "valid", "validate", "validation"],
    *["eval", "evaluation", "heldout", "held-out", "holdout", "unlabeled", "unlabelled", "unsupervised", "unused"],
}
"""Values, in small letters, that say which part of a benchmark a row is of."""
_NOT_MADE_OF = {TEXT: ABOUT_ROWS, LABEL: re.compile(r"is_(?:retweet|reply|quote|verified|train|test)")}

_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*")
"""A number or a date: what a header rarely is, and rows often are."""
_ENDS, _WORDS_OF_SENTENCE = ".!。！။។", 5
_END_OF_SENTENCE = re.compile(rf"[{_ENDS}]\W*\Z")
_NEARLY_ALL = 0.9
_LONGEST_LABEL = 100


def match_header(table: Table, wanted: WantedColumns, field: str, *, has_labels: bool) -> None:
    """Refuse a table without a wanted column, with too many columns, or with a wanted one that is there twice; where
    there are no labels, with any that is, because all columns are kept.
    """
    names = table.names
    if len(names) > MAX_COLUMNS:
        raise InvalidDataset(
            f"the dataset has more than {MAX_COLUMNS:,} columns; keep {' and '.join(wanted.names)}", field=field
        )
    # Spreadsheets write an empty name for each empty column at the right, so repeated empty names are allowed.
    read = wanted.names if has_labels else names
    repeated = [name for name, count in Counter(names).items() if count > 1 and name and name in read]
    if repeated:
        raise InvalidDataset(
            f"the column {show_label(repeated[0])} is there more than once; columns found: {show_names(names)}; "
            "give each column a name of its own",
            field=f"{field}.{repeated[0]}" if repeated[0] in wanted.names else field,
        )
    missing = [name for name in wanted.names if find_column(name, names) is None]
    if missing and table.has_header:
        there_is = "there is no column" if len(missing) == 1 else "there are no columns"
        meant = dict.fromkeys(found for name in missing if (found := _find_meant(name, wanted, names)) is not None)
        advice = f"did you mean {' and '.join(map(show_label, meant))}? " if meant else ""
        advice += f"name one of the columns found ({wanted.parameters})"
        if len(names) == 1 and wanted.label is not None:
            delimiters = [show_label(one) for one in (*DELIMITERS, "^", "~") if one in names[0]]
            advice = "the file has one column; send a table with a column of texts and one of labels"
            advice = f"name the delimiter of the file, perhaps {delimiters[0]} (delimiter)" if delimiters else advice
        is_of_file = field == "test" or (len(names) == 1 and wanted.label is not None)
        raise InvalidDataset(
            f"{there_is} named {' and '.join(map(show_label, missing))}; columns found: {show_names(names)}; {advice}",
            field=f"{field}.{missing[0]}" if is_of_file else _parameter(missing[0], wanted),
        )


def _parameter(name: str, wanted: WantedColumns) -> str:
    return "text_column" if name in list_columns(wanted.text) else "label_column"


def _find_meant(missing: str, wanted: WantedColumns, names: Sequence[str]) -> str | None:
    """The column whose name is nearest in spelling, or usual."""
    free = {fold_name(name): name for name in names if name and name not in wanted.names}
    if near := get_close_matches(fold_name(missing), free, n=1):
        return free[near[0]]
    is_text = missing in list_columns(wanted.text)
    return next(iter(find_usual(list(free.values()), TEXT_NAMES if is_text else LABEL_NAMES)), None)


def find_column(name: str, names: Iterable[str]) -> str | None:
    """The column that is meant: of this name; at this place; of a name that differs in case, spaces and accents only; a
    value within an object (`fields.text`); or one label of several (`labels: urgent`).
    """
    names = list(names)
    if name in names:
        return name
    if (place := POSITION.fullmatch(name)) and int(place[1]) <= len(names):
        return names[int(place[1]) - 1]
    near = [found for found in names if _bare(found) == _bare(name)]
    if len(near) == 1:
        return near[0]
    column, colon, label = name.partition(": ")
    if colon and (several := find_column(column, names)) is not None:
        return f"{several}: {label}"
    return name if name.partition(".")[0] in names else None


def _bare(name: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", fold_name(name)) if not unicodedata.combining(one))


def fold_name(name: str) -> str:
    """A name without outer spaces and case."""
    return name.strip().casefold()


def find_usual(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with usual names, or names made of them, the most usual first."""
    folded = {fold_name(name): name for name in reversed(names)}  # of equal ones, the first
    folded |= {name: name for name in names if name in folded}
    exact = [folded[one] for one in usual if one in folded]
    parts, others = _PARTS[usual[0]], _NOT_MADE_OF[usual[0]]
    made = {one: name for one, name in folded.items() if one.startswith(parts) or one.endswith(parts)}
    alike = [name for one, name in made.items() if not others.fullmatch(one)]
    return [*exact, *(name for name in reversed(alike) if name not in exact)]


def is_usual(name: str) -> bool:
    """Whether columns of texts or labels are often called so."""
    return fold_name(name) in TEXT_NAMES or fold_name(name) in LABEL_NAMES


def name_positions(width: int) -> tuple[str, ...]:
    """The names of the columns of a table without a header."""
    return tuple(f"column {place}" for place in range(1, width + 1))


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]], known: Sequence[str]) -> bool:
    """Whether the first record is a header.

    Args:
        rows: the next records, as wide as the first.
        known: names of columns that the caller knows.
    """
    if not rows or any(fold_name(name) in map(fold_name, first) for name in known):
        return True
    if list(first) in list(map(list, rows)):  # files were joined, each with its header
        return any(map(is_usual, first))
    columns = list(zip(*rows, strict=True))
    if any(
        one.strip() and not is_number(one) and _are_numbers(values) for one, values in zip(first, columns, strict=True)
    ):
        return True
    num_usual = sum(map(is_usual, first))
    num_values = sum(
        _is_value(one, values, is_beside_usual=num_usual > is_usual(one))
        for one, values in zip(first, columns, strict=True)
    )
    if num_values == 1 and not any(map(is_number, first)):
        return any(map(_is_no_value, first, columns))
    if num_values:
        return False
    if num_usual:
        return True
    if any(map(POSITION.fullmatch, known)):
        return False
    if len(first) == 1:
        return not _is_sentence(first[0]) or len(first[0]) < mean(map(len, columns[0])) / 2
    return not any(one.rstrip().endswith(tuple(_ENDS)) and _is_sentence(one) for one in first)


def _is_sentence(text: str) -> bool:
    """Whether it has five words, or two and an end; two characters of a script without spaces are a word."""
    words = len(text.split(None, _WORDS_OF_SENTENCE)) + count_unspaced(text) // 2
    return words >= _WORDS_OF_SENTENCE or (words > 1 and _END_OF_SENTENCE.search(text[-20:]) is not None)


def is_number(value: str) -> bool:
    """Whether a value is a number or a date."""
    return _NUMBER.fullmatch(value.strip()) is not None


def _is_value(one: str, values: Sequence[str], *, is_beside_usual: bool) -> bool:
    """Whether a field of the first record is a value of its column: a number among numbers, or a frequent label."""
    if is_number(one):
        return _are_numbers(values)
    if not one.strip() or len(one) > _LONGEST_LABEL or is_beside_usual:
        return False
    counts = Counter(map(fold_text, values))
    return counts[fold_text(one)] > 1 and 2 * len(counts) <= len(values)


def _is_no_value(name: str, values: Sequence[str]) -> bool:
    """Whether a column certainly does not hold the words above it: it has few values, or values of several words."""
    num_words = len(name.split())
    counts = Counter(fold_text(value[:_LONGEST_LABEL]) for value in values)
    if 2 * len(counts) <= len(values):
        return num_words in (1, 2) and counts[fold_text(name)] == 0
    return num_words == 1 and sum(" " in value.strip() for value in values) >= _NEARLY_ALL * len(values)


def _are_numbers(values: Sequence[str]) -> bool:
    filled = [value for value in values if value.strip()]
    return bool(filled) and sum(map(is_number, filled)) >= _NEARLY_ALL * len(filled)
