"""The language of texts is found without keeping what finds it."""

import tracemalloc

from lens_engine.prompt.language import count_languages, warn_of_language
from lens_engine.types import Example

TEXTS = ("the parcel has not come yet", "das Paket ist noch nicht gekommen", "where is my money")


def test_language_of_each_text_is_counted_and_its_model_forgotten() -> None:
    assert count_languages(TEXTS) == {"en": 2, "de": 1}
    tracemalloc.start()
    count_languages(TEXTS)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2**20 < 50 * 2**20 < peak


def test_language_that_the_bundled_model_reads_badly_is_named() -> None:
    foreign = "Bonjour, je voudrais savoir quand ma commande sera livrée, merci de votre réponse rapide"
    english = "Hello, I would like to know when my order will be delivered, thank you for a quick reply"
    rows = [Example(row, f"{foreign} {row}", "x") for row in range(10)]
    warning = warn_of_language(rows)
    assert warning is not None
    assert warning.startswith("French, in 100% of the texts; the bundled model is English")
    assert warn_of_language([Example(row, f"{english} {row}", "x") for row in range(10)]) is None
    assert warn_of_language([*rows[:6], *(Example(row, english, "x") for row in range(4))]) is None
