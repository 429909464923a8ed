"""Label words that say nothing: numbers and letters that stand for classes which a person would name."""

import re

from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_label

_SILENT = re.compile(
    r"(?:(?:label|class|category|cat|cluster|group|topic|tag|klasse|kategorie|classe|categorie|clase|categoria|etiqueta|"
    r"etichetta|id|[a-z])[ _.:#-]*)?[+-]?\d+(?:[.,]\d+)?|[a-z]",
    re.IGNORECASE,
)
_MOST_NAMED = 10


def find_silent(verbalizer: Verbalizer) -> list[str]:
    """The labels whose words say nothing of what they stand for: `0`, `A`, `B2`, `LABEL_3`."""
    return [label for label, word in verbalizer.words.items() if _SILENT.fullmatch(word.strip())]


def warn_of_silent(verbalizer: Verbalizer) -> list[str]:
    """A sentence if words say nothing; it ends with what to do."""
    silent = find_silent(verbalizer)
    if not silent:
        return []
    named = ", ".join(show_label(verbalizer.words[label]) for label in silent[:_MOST_NAMED])
    more = f" and {len(silent) - _MOST_NAMED} more" * (len(silent) > _MOST_NAMED)
    return [
        f"the label words {named}{more} say nothing of what they stand for, so that the model knows of these labels "
        "only what the examples show; give each label a word"
    ]
