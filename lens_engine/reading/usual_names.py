"""Usual names of columns, in English, French, German, Spanish, Italian and Portuguese; the earlier is preferred."""

import re
from collections.abc import Sequence


def _list(names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"\w+", names)))


TEXT_NAMES = _list("""
    text texts sentence message tweet utterance query content question review comment comment_text body sms document
    reviewtext utt abstract description post prompt input headline title transcript email excerpt passage turn
    texte message commentaire avis phrase contenu kommentar nachricht bewertung satz inhalt beschreibung frage
    texto mensaje comentario reseña frase contenido pregunta testo messaggio commento recensione domanda
    mensagem comentário avaliação conteúdo pergunta
""")
LABEL_NAMES = _list("""
    label labels class category categories topic intent sentiment emotion polarity target kind type tag gold gold_label
    annotation airline_sentiment stars rating overall answer output completion accept score y
    étiquette classe catégorie thème intention etikett klasse kategorie thema absicht stimmung typ
    etiqueta clase categoría tema intención sentimiento tipo etichetta categoria argomento intento sentimento
    rótulo intenção
""")
_TEXT_PARTS, _LABEL_PARTS = _list("_text text_"), _list("is_ label_ _label _class _category _intent _sentiment")


def fold_name(name: str) -> str:
    """A name without outer spaces and case."""
    return name.strip().casefold()


def find_usual(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with usual names, or names made of them, the most usual first."""
    folded = {fold_name(name): name for name in reversed(names)}  # of equal ones, the first
    folded |= {name: name for name in names if name in folded}
    exact = [folded[one] for one in usual if one in folded]
    parts = _TEXT_PARTS if usual is TEXT_NAMES else _LABEL_PARTS
    alike = [name for one, name in folded.items() if one.startswith(parts) or one.endswith(parts)]
    return [*exact, *(name for name in reversed(alike) if name not in exact)]


def is_usual(name: str) -> bool:
    """Whether columns of texts or labels are often called so."""
    return fold_name(name) in TEXT_NAMES or fold_name(name) in LABEL_NAMES
