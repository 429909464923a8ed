"""Finds the wanted columns, mostly `text` and `label`, among those of a table.

The usual names are in English, French, German, Spanish, Italian and Portuguese; the earlier is preferred.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.table import Table
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label

TEXT = "text"
LABEL = "label"
MAX_COLUMNS = 1_000
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are looked for, with their names."""

POSITION = re.compile(r"column ([1-9]\d{0,3})")
"""The name of a column without one, by its place."""

_words = re.compile(r"\w+").findall
TEXT_NAMES: list[str] = _words("""
    text texts sentence message tweet utterance query content question review comment comment_text body sms document
    reviewtext utt abstract description post prompt input headline title transcript email excerpt passage turn
    texte message commentaire avis phrase contenu kommentar nachricht bewertung satz inhalt beschreibung frage
    texto mensaje comentario reseña frase contenido pregunta testo messaggio commento recensione domanda
    mensagem comentário avaliação conteúdo pergunta
""")
LABEL_NAMES: list[str] = _words("""
    label labels class category categories topic intent sentiment emotion polarity target kind type tag gold gold_label
    annotation airline_sentiment stars rating overall answer output completion accept score y
    étiquette classe catégorie thème intention etikett klasse kategorie thema absicht stimmung typ
    etiqueta clase categoría tema intención sentimiento tipo etichetta categoria argomento intento sentimento
    rótulo intenção
""")
_PARTS = {
    TEXT: ("_text", "text_"),
    LABEL: ("is_", "label_", "_label", "_class", "_category", "_intent", "_sentiment"),
}
"""Beginnings and ends of further names."""

ColumnNames = str | tuple[str, ...]
"""A column; or several: texts are joined, and of labels each row has one that is set (one-hot)."""


def list_columns(*named: ColumnNames | None) -> tuple[str, ...]:
    """The single names."""
    return tuple(name for one in named if one is not None for name in ((one,) if isinstance(one, str) else one))


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """The names of the columns that are read.

    Raises:
        InvalidDataset: a column is wanted twice.
    """

    text: ColumnNames = TEXT
    label: ColumnNames | None = LABEL  #: None: the texts have no labels

    def __post_init__(self) -> None:
        repeated = [name for name, number in Counter(self.names).items() if number > 1]
        if repeated:
            raise InvalidDataset(
                f"the column {show_label(repeated[0])} cannot hold both texts and labels; name two columns "
                "(text_column, label_column)",
                field="label_column",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return list_columns(self.text, self.label)

    @property
    def parameters(self) -> str:
        """The parameters that name the columns, for a message."""
        return "text_column" if self.label is None else "text_column, label_column"


def match_header(table: Table, wanted: WantedColumns, field: str) -> None:
    """Check the names of a table whose rows all have the same columns.

    Raises:
        InvalidDataset: a wanted column is missing, there are too many, or a name occurs twice.
    """
    names = table.names
    if len(names) > MAX_COLUMNS:
        raise InvalidDataset(
            f"the dataset has more than {MAX_COLUMNS:,} columns; keep {' and '.join(wanted.names)}", field=field
        )
    # Spreadsheets write an empty name for each empty column at the right, so repeated empty names are allowed.
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise InvalidDataset(
            f"the column {show_label(repeated[0])} is there more than once; columns found: {show_names(names)}; "
            "give each column a name of its own",
            field=f"{field}.{repeated[0]}" if repeated[0] in wanted.names else field,
        )
    missing = [name for name in wanted.names if find_column(name, names) is None]
    if missing and table.has_header:
        there_is = "there is no column" if len(missing) == 1 else "there are no columns"
        advice = f"name one of the columns found ({wanted.parameters})"
        delimiters = [one for one in DELIMITERS if len(names) == 1 and one in names[0]]
        if delimiters and wanted.label is not None:
            advice = f"name the delimiter of the file, perhaps {show_label(delimiters[0])} (delimiter)"
        raise InvalidDataset(
            f"{there_is} named {' and '.join(map(show_label, missing))}; columns found: {show_names(names)}; {advice}",
            field=f"{field}.{missing[0]}",
        )


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
    return "".join(
        one for one in unicodedata.normalize("NFD", name.strip().casefold()) if not unicodedata.combining(one)
    )


def fold_name(name: str) -> str:
    """A name without outer spaces and case."""
    return name.strip().casefold()


def find_usual(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with usual names, or names made of them, the most usual first."""
    folded = {fold_name(name): name for name in reversed(names)}  # of equal ones, the first
    folded |= {name: name for name in names if name in folded}
    exact = [folded[one] for one in usual if one in folded]
    parts = _PARTS[usual[0]]
    alike = [name for one, name in folded.items() if one.startswith(parts) or one.endswith(parts)]
    return [*exact, *(name for name in reversed(alike) if name not in exact)]


def is_usual(name: str) -> bool:
    """Whether columns of texts or labels are often called so."""
    return fold_name(name) in TEXT_NAMES or fold_name(name) in LABEL_NAMES
