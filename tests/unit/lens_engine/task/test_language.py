"""The language of texts is found without keeping what finds it."""

import tracemalloc

from lens_engine.task.language import count_languages

TEXTS = ("the parcel has not come yet", "das Paket ist noch nicht gekommen", "where is my money")


def test_language_of_each_text_is_counted_and_its_model_forgotten() -> None:
    assert count_languages(TEXTS) == {"en": 2, "de": 1}
    tracemalloc.start()
    count_languages(TEXTS)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2**20 < 50 * 2**20 < peak
