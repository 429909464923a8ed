"""Chooses the columns of texts and labels, and says why."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile, profile_columns, read_names
from lens_engine.reading.columns import LABEL, MAX_COLUMNS, TEXT, WantedColumns, find_near, match_header
from lens_engine.reading.dialect import FoundDialect
from lens_engine.task.text_checks import show_names
from lens_engine.task.unicode_form import fold_label
from lens_engine.task.wording import show_label

_TEXT_NAMES = (
    *(TEXT, "texts", "sentence", "message", "content", "question", "review", "comment", "body", "description"),
    *("texte", "message", "commentaire", "avis", "phrase", "contenu"),
    *("kommentar", "nachricht", "bewertung", "satz", "inhalt", "beschreibung", "frage"),
    *("texto", "mensaje", "comentario", "reseña", "frase", "contenido", "pregunta"),
    *("testo", "messaggio", "commento", "recensione", "domanda"),
    *("mensagem", "comentário", "avaliação", "conteúdo", "pergunta"),
)
_LABEL_NAMES = (
    *(LABEL, "labels", "class", "category", "topic", "intent", "sentiment", "target", "kind", "type", "tag"),
    *("étiquette", "classe", "catégorie", "thème", "intention"),
    *("etikett", "klasse", "kategorie", "thema", "absicht", "stimmung", "typ"),
    *("etiqueta", "clase", "categoría", "tema", "intención", "sentimiento", "tipo"),
    *("etichetta", "categoria", "argomento", "intento", "sentimento"),
    *("rótulo", "intenção"),
)
"""Usual names, in English, French, German, Spanish, Italian and Portuguese; the earlier one is preferred."""

_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?!\d)")

_NAMED = "you named it"

_ROWS_A_LABEL = 2
"""A column of labels has at least this many rows for each distinct value, on average."""


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column, and why it was chosen."""

    name: str
    reason: str

    def notes(self, what: str) -> tuple[str, ...]:
        """Which column is read as the texts or the labels, and why; nothing for a column that the caller named."""
        return (
            () if self.reason == _NAMED else (f"column {show_label(self.name)} is read as the {what}: {self.reason}",)
        )


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to use."""

    text: ChosenColumn
    label: ChosenColumn
    others: tuple[str, ...]  #: columns that are not used
    possible_labels: tuple[str, ...]  #: columns not used that could hold labels too
    is_label_guessed: bool = False  #: whether the column of labels was told by its values

    def notes(self) -> list[str]:
        """A sentence for each column that has another name than the default, and was not named by the caller."""
        chosen = ((self.text, TEXT, "texts"), (self.label, LABEL, "labels"))
        return [note for one, usual, what in chosen if one.name != usual for note in one.notes(what)]


def find_columns(path: Path, text: str | None, label: str | None, dialect: FoundDialect) -> ColumnChoice:
    """The columns of a trusted file; its rows are looked at only if the names do not tell.

    Raises:
        InvalidDataset: as `choose_columns`; or more than one column could hold the labels, and no name tells which.
        OSError: the file cannot be read.
    """
    names = read_names(path, dialect)
    if (text or TEXT) in names and (label or LABEL) in names:
        known = [ColumnProfile(name) for name in names]
        return choose_columns(known, text, label)
    choice = choose_columns(profile_columns(path, dialect), text, label)
    if choice.is_label_guessed and choice.possible_labels:
        shown = show_names([choice.label.name, *choice.possible_labels])
        raise InvalidDataset(
            f"more than one column could hold the labels: {shown}; name the column to read (label_column)",
            field="dataset",
        )
    return choice


def find_text_column(path: Path, text: str | None, usual: str | None, dialect: FoundDialect) -> ChosenColumn:
    """The column of texts of a trusted file without labels.

    Args:
        text: its name, if the caller knows it.
        usual: its name in earlier files.

    Raises:
        InvalidDataset: no column holds texts.
        OSError: the file cannot be read.
    """
    names = read_names(path, dialect)
    if text is not None or (usual or TEXT) in names:
        return ChosenColumn(text or usual or TEXT, _NAMED)
    profiles = profile_columns(path, dialect)
    return _by_name(names, _TEXT_NAMES) or _find_text(profiles)


def name_columns(names: Sequence[str], text: str | None, label: str | None) -> ColumnChoice:
    """The columns that the caller or their names tell, or else `text` and `label`."""
    by_name = choose_by_name(names, text, label)
    found = [one or ChosenColumn(usual, _NAMED) for one, usual in zip(by_name, (TEXT, LABEL), strict=True)]
    others = tuple(name for name in names if name not in [one.name for one in found])
    return ColumnChoice(text=found[0], label=found[1], others=others, possible_labels=())


def choose_by_name(
    names: Sequence[str], text: str | None = None, label: str | None = None
) -> tuple[ChosenColumn | None, ChosenColumn | None]:
    """The columns of the texts and of the labels that the caller or their names tell."""
    chosen_label = _given(label) or _by_name([name for name in names if name != text], _LABEL_NAMES)
    free = [name for name in names if chosen_label is None or name != chosen_label.name]
    return _given(text) or _by_name(free, _TEXT_NAMES), chosen_label


def choose_columns(
    profiles: Sequence[ColumnProfile], text: str | None = None, label: str | None = None
) -> ColumnChoice:
    """Choose by name, or else by content.

    Args:
        text, label: names of columns that the caller knows.

    Raises:
        InvalidDataset: a named column is missing, or no column can hold the texts or the labels.
    """
    if len(profiles) == 1:
        match_header([profiles[0].name], WantedColumns(), "dataset")  # refuses, and tells what is missing
    for name in (text, label):
        if name is not None and name not in [profile.name for profile in profiles]:
            near = find_near(name, [profile.name for profile in profiles])
            hint = "" if near is None else f"; did you mean {show_label(near)}?"
            raise InvalidDataset(
                f"there is no column {show_label(name)}; columns found: {_show(profiles)}{hint}", field="dataset"
            )
    chosen_text, chosen_label = choose_by_name([profile.name for profile in profiles], text, label)
    free = [one for one in profiles if chosen_label is None or one.name != chosen_label.name]
    chosen_text = chosen_text or _find_text(free)
    possible = [one for one in free if one.name != chosen_text.name and _can_be_labels(one)]
    is_guessed = chosen_label is None
    if chosen_label is None:
        chosen_label = _find_label(possible, profiles)
        _refuse_row_as_header(chosen_label.name, possible)
    used = (chosen_text.name, chosen_label.name)
    return ColumnChoice(
        chosen_text,
        chosen_label,
        others=tuple(one.name for one in profiles if one.name not in used),
        possible_labels=tuple(one.name for one in possible if one.name not in used),
        is_label_guessed=is_guessed,
    )


def _given(name: str | None) -> ChosenColumn | None:
    return None if name is None else ChosenColumn(name, _NAMED)


def _by_name(names: Sequence[str], usual: Sequence[str]) -> ChosenColumn | None:
    """The column with the exact name, or that name in another case, or else with another usual name."""
    if usual[0] in names:
        return ChosenColumn(usual[0], "named exactly so")
    folded = {_fold(name): name for name in reversed(names[:MAX_COLUMNS])}  # of equal ones, the first
    for other in usual:
        if other in folded:
            is_first = other == usual[0]
            return ChosenColumn(folded[other], f"named {other} but for case and spaces" if is_first else "a usual name")
    return None


def _fold(name: str) -> str:
    return name.strip().casefold()


def _find_text(profiles: Sequence[ColumnProfile]) -> ChosenColumn:
    readable = [one for one in profiles if one.num_values and not one.num_others]
    if not readable:
        raise InvalidDataset(f"no column holds texts; columns found: {_show(profiles)}", field="dataset")
    longest = max(readable, key=lambda one: one.mean_characters)
    return ChosenColumn(longest.name, f"the longest values, {longest.mean_characters:.0f} characters on average")


def _find_label(possible: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile]) -> ChosenColumn:
    if not possible:
        raise InvalidDataset(
            "no column looks like labels: none besides the texts has between 2 and 200 distinct values that are "
            f"repeated; columns found: {_show(profiles)}",
            field="dataset",
        )
    fewest = min(possible, key=lambda one: len(one.distinct))
    return ChosenColumn(fewest.name, f"few distinct values: {len(fewest.distinct)} in {fewest.num_values:,} rows")


def _refuse_row_as_header(name: str, profiles: Sequence[ColumnProfile]) -> None:
    """
    Raises:
        InvalidDataset: the name of the column of labels is a label too.
    """
    if any(one.name == name and fold_label(name) in one.distinct for one in profiles):
        raise InvalidDataset(
            f"the first line looks like a row, not like a header: {show_label(name)} is one of the labels; add a first "
            "line that names the columns, such as text,label, or name the columns to read (text_column, label_column)",
            field="dataset",
        )


def _can_be_labels(profile: ColumnProfile) -> bool:
    distinct = profile.num_distinct
    if all(map(_DATE.match, profile.distinct)):
        return False
    return distinct is not None and distinct >= 2 and profile.num_values >= _ROWS_A_LABEL * distinct


def _show(profiles: Sequence[ColumnProfile]) -> str:
    return show_names([profile.name for profile in profiles])
