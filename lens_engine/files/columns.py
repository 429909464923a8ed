"""The names of columns: the usual ones, the one that is meant, and where a table begins and whether it has names.

The usual names are in English, French, German, Spanish, Italian and Portuguese; the earlier is preferred.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import mean

from lens_engine.errors import InvalidDataset
from lens_engine.files.table import LABEL, MISSING, NAMED_ROWS, TEXT, Table, WantedColumns, list_columns, pick
from lens_engine.options import suggest_words
from lens_engine.prompt.text_checks import count_unspaced, fold_text, show_names
from lens_engine.prompt.wording import show_label

MAX_COLUMNS = 1_000
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are looked for, with their names."""
NEARLY_ALL = 0.9
_POSITION = re.compile(r"column ([1-9]\d{0,3})")  #: the name of a column without one, by its place
COMMENTS = ("#", "%", "//")  #: beginnings of lines above a table

_words = re.compile(r"\w+").findall
TEXT_NAMES: list[str] = _words("""
    text texts sentence message tweet utterance query content question review comment comment_text body sms document
    reviewtext utt feedback abstract description post prompt input headline title transcript email excerpt passage turn
    texte message commentaire avis phrase contenu kommentar nachricht bewertung satz inhalt beschreibung frage
    texto mensaje comentario reseña frase contenido pregunta testo messaggio commento recensione domanda
    mensagem comentário avaliação conteúdo pergunta
""")
LABEL_NAMES: list[str] = _words("""
    label labels class category categories topic intent sentiment emotion polarity stance target kind type tag gold
    gold_label annotation airline_sentiment stars star_rating rating overall answer output completion accept score y
    étiquette classe catégorie thème intention etikett klasse kategorie thema absicht stimmung typ
    etiqueta clase categoría tema intención sentimiento tipo etichetta categoria argomento intento sentimento
    rótulo intenção
""")
LABEL_NAMES += ["issue type", "ticket type"]
_PARTS = {TEXT: ("_text", "text_"), LABEL: ("is_", "label_", "_label", "_class", "_category", "_intent", "_sentiment")}
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
_ENDS, _WORDS_OF_SENTENCE = ".!。！။።", 5
_END_OF_SENTENCE = re.compile(rf"[{_ENDS}]\W*\Z")
_LONGEST_LABEL, _MOST_SEEN = 100, 1_000


def match_header(table: Table, wanted: WantedColumns, field: str, *, has_labels: bool) -> None:
    """Refuse a table without a wanted column, with too many columns, or with a wanted one that is there twice; where
    there are no labels, with any that is, because all columns are kept.
    """
    names = table.names
    if len(names) > MAX_COLUMNS:
        told = f"the dataset has more than {MAX_COLUMNS:,} columns; keep {' and '.join(wanted.names)}"
        raise InvalidDataset(told, field=field)
    # Spreadsheets write an empty name for each empty column at the right, so repeated empty names are allowed.
    read = wanted.names if has_labels else names
    repeated = [name for name, count in Counter(names).items() if count > 1 and name and name in read]
    if repeated:
        told = f"the column {show_label(repeated[0])} is there more than once; columns found: {show_names(names)}"
        place = f"{field}.{repeated[0]}" if repeated[0] in wanted.names else field
        raise InvalidDataset(f"{told}; give each column a name of its own", field=place)
    missing = [name for name in wanted.names if _is_missing(name, table)]
    if missing and names:  # without names the table is empty, which its reader says
        there_is = "there is no column" if len(missing) == 1 else "there are no columns"
        advice = f"name one of the columns found ({wanted.parameters})"
        is_alone = len(names) == 1 and wanted.label is not None and table.has_header
        if is_alone:
            delimiters = [show_label(one) for one in (*DELIMITERS, "^", "~") if one in names[0]]
            advice = "the file has one column; send a table with a column of texts and one of labels"
            advice = f"name the delimiter of the file, perhaps {delimiters[0]} (delimiter)" if delimiters else advice
        parameter = "text_column" if missing[0] in list_columns(wanted.text) else "label_column"
        near = [suggest_words(fold_name(name), map(fold_name, names))[:1] for name in missing]
        if all(near):
            meant = [str(find_column(one, names)) for (one,) in near]
            advice = f"did you mean {' and '.join(map(show_label, meant))}? ({parameter})"
        told = f"{there_is} named {' and '.join(map(show_label, missing))}; columns found: {show_names(names)}"
        place = f"{field}.{missing[0]}" if field == "test" or is_alone else parameter
        raise InvalidDataset(f"{told}; {advice}", field=place)


def _is_missing(name: str, table: Table) -> bool:
    """Whether the header lacks a column; or, where a row may have others than the first rows, each row does."""
    if table.has_header or name in table.names:
        return find_column(name, table.names) is None
    rows = (row.cells for row in table.rows() if row.fault is None and not row.empty)
    return all(pick(cells, name) is MISSING for cells in rows)


def find_column(name: str, names: Iterable[str]) -> str | None:
    """The column of this name, at this place, of a name with other case or outer spaces, or within an object."""
    names = list(names)
    if name in names:
        return name
    if (place := _POSITION.fullmatch(name)) and int(place[1]) <= len(names):
        return names[int(place[1]) - 1]
    near = [found for found in names if fold_name(found) == fold_name(name)]
    if len(near) == 1:
        return near[0]
    return name if name.partition(".")[0] in names else None


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


def find_start(rows: Sequence[Sequence[str]], known: Sequence[str]) -> int:
    """The number of rows above a table: comments; above a header of usual or known names, also titles."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    if 2 * sum(number > 1 for number in filled) <= len(rows):  # of one column
        return 0
    seen, num_wide = Counter(cell for row in islice(rows, _MOST_SEEN) for cell in row), 0
    for place, row in enumerate(rows[:NAMED_ROWS]):
        named = sum(name in known or (seen[name] == 1 and is_usual(name)) for name in row if name)
        below = [one for one in rows[place + 1 :] if len(one) == len(row)]
        if filled[place] > 1 and named > min(num_wide, 1) and (not place or has_header(row, below, known)):
            return place
        num_wide += filled[place] > 1
    return next((place for place, row in enumerate(rows) if len(row) != 1 or not row[0].startswith(COMMENTS)), 0)


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]], known: Sequence[str]) -> bool:
    """Whether the first record is a header above rows as wide as it. `known`: columns that the caller knows."""
    if not rows or any(fold_name(name) in map(fold_name, first) for name in known):
        return True
    if list(first) in list(map(list, rows)):  # files were joined, each with its header
        return any(map(is_usual, first))
    columns = list(zip(*rows, strict=True))
    pairs = list(zip(first, columns, strict=True))
    if any(one.strip() and not is_number(one) and _are_numbers(values) for one, values in pairs):
        return True
    num_usual = sum(map(is_usual, first))
    if num_values := sum(_is_value(one, values, is_named=num_usual > is_usual(one)) for one, values in pairs):
        return num_values == 1 and not any(map(is_number, first)) and any(map(_is_no_value, first, columns))
    if num_usual or any(map(_POSITION.fullmatch, known)):
        return num_usual > 0
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


def _is_value(one: str, values: Sequence[str], *, is_named: bool) -> bool:
    """Whether a field of the first record is a value of its column: a number among numbers, or a frequent label; of the
    latter none if another field is a usual name.
    """
    if is_number(one):
        return _are_numbers(values)
    if not one.strip() or len(one) > _LONGEST_LABEL or is_named:
        return False
    counts = Counter(map(fold_text, values))
    return counts[fold_text(one)] > 1 and 2 * len(counts) <= len(values)


def _is_no_value(name: str, values: Sequence[str]) -> bool:
    """Whether a column certainly does not hold the words above it: it has few values, or values of several words."""
    num_words = len(name.split())
    counts = Counter(fold_text(value[:_LONGEST_LABEL]) for value in values)
    if 2 * len(counts) <= len(values):
        return num_words in (1, 2) and counts[fold_text(name)] == 0
    return num_words == 1 and sum(" " in value.strip() for value in values) >= NEARLY_ALL * len(values)


def _are_numbers(values: Sequence[str]) -> bool:
    filled = [value for value in values if value.strip()]
    return bool(filled) and sum(map(is_number, filled)) >= NEARLY_ALL * len(filled)
