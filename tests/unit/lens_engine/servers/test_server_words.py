"""What a server says, without its secrets."""

import pytest

from lens_engine.servers.server_words import clean_words, read_name

KEY = "sk-proj-0123456789abcdef"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"wrong key {KEY}.", "wrong key [key]."),
        ("wrong key: sk-proj-******cdef.", "wrong key: [key]"),
        ("ends in 9abcdef", "ends in [key]"),
        ("upstream key 'sk-SECRETKEY01234567***' is bad", "upstream key '[key]' is bad"),
        ("Authorization: Bearer abc", "Authorization: Bearer [key]"),
        ("no model llama-3.1-8b-instruct", "no model llama-3.1-8b-instruct"),
        ("two\r\nlines\0\x1b[31m \ud800", "two  lines  [31m"),
        ("x" * 5000, "x" * 300),
        (7, "7"),
        (None, "None"),
        ([[KEY]], "list"),
    ],
)
def test_words_are_shown_without_secrets(said: object, shown: str) -> None:
    assert clean_words(said, KEY) == shown


def test_short_key_is_masked() -> None:
    assert clean_words("the key abc is wrong", "abc") == "the key [key] is wrong"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("/models/hf_Qwen2.5-7B-Instruct", "/models/hf_Qwen2.5-7B-Instruct"),
        ("/models/hf_Qwen2.5-14B-Instruct", "/models/hf_Qwen2.5-14B-Instruct"),
        ("two\nlines\0", "two lines"),
        ("x" * 5000, "x" * 300),
        (5, "5"),
        (["a"], "list"),
        (None, None),
    ],
)
def test_name_of_a_model_is_not_masked(said: object, name: str | None) -> None:
    assert read_name(said) == name
