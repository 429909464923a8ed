"""The language of texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lens_engine.types import Example

_SAMPLE, _CHARACTERS = 200, 500  #: number of texts that are looked at, and of characters of each
_SURE = 0.8  #: share of the texts from which on a run warns of their language
_FOREIGN = (
    "the bundled model is English and reads other languages badly; a model of many languages, such as Qwen/Qwen3-0.6B, "
    "reads them better"
)

_NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "it": "Italian",
    "ja": "Japanese",
    "km": "Khmer",
    "ko": "Korean",
    "lo": "Lao",
    "my": "Burmese",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}


@dataclass(frozen=True, slots=True)
class Language:
    """The language of most texts of a sample."""

    code: str  #: of ISO 639-1, such as "de"
    share: float  #: of the texts

    @property
    def name(self) -> str:
        return _NAMES.get(self.code, f"the language {self.code!r}")


def count_languages(texts: Sequence[str]) -> Counter[str]:
    """The number of texts in each language, of 200 that are spread over all; with fewer than 400, of the first 200."""
    identifier = _read_model()
    sample = texts[:: max(len(texts) // _SAMPLE, 1)][:_SAMPLE]
    return Counter(identifier.classify(text[:_CHARACTERS])[0] for text in sample)


def _read_model() -> Any:
    """The model of py3langid. Its own functions keep it: 75 MiB. Reading it takes half a second, and 30 MiB more."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)  # type: ignore[no-untyped-call]


def find_language(examples: Sequence[Example]) -> Language | None:
    """The language of most of some texts (see `count_languages`); None if no language is that of half of them."""
    counts = count_languages([example.text for example in examples])
    if not counts:
        return None
    (code, number), *_ = counts.most_common(1)
    share = number / counts.total()
    return Language(code, share) if share >= 0.5 else None  # short texts are often taken for a rare language


def describe_language(language: Language, *, is_bundled: bool) -> str:
    """What the language means for the model: the bundled one has learned English."""
    found = _tell(language)
    if language.code == "en":
        return found
    if is_bundled:
        return f"{found}; {_FOREIGN}; take another model"
    return f"{found}; choose a model that has learned it, and write the template in it"


def warn_of_language(examples: Sequence[Example]) -> str | None:
    """What to say of texts for the bundled model, which has learned English; None if nothing is to be said."""
    language = find_language(examples)
    if language is None or language.code == "en" or language.share < _SURE:
        return None
    return f"{_tell(language)}; {_FOREIGN}"


def _tell(language: Language) -> str:
    return f"{language.name}, in {language.share:.0%} of the texts"
