import sys
from pathlib import Path

import pytest
from huggingface_hub import constants
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from lens_engine.disk import digest_files, make_once
from lens_engine.model.local.model_files import BUNDLED_MODEL, find_token_counter

TEXTS = ["abc", "", "a<|end|>", "é"]
COUNTS = [3, 0, 8, 2]
"""A token a byte: no space is put before a text, and a special token in a text is plain text."""


def write_tokenizer(folder: Path) -> Path:
    """A byte-level tokenizer without merges, which puts a space before a text and cuts it after two tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: number for number, character in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.add_special_tokens([AddedToken("<|end|>")])
    tokenizer.enable_truncation(2)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def count(reference: str, cache_dir: Path | None = None) -> list[int] | None:
    count_tokens = find_token_counter(reference, cache_dir)
    return None if count_tokens is None else count_tokens(TEXTS)


def test_tokens_of_a_folder_are_counted(tmp_path: Path) -> None:
    assert count(str(write_tokenizer(tmp_path / "model"))) == COUNTS


def test_gguf_file_has_a_counter_once_it_is_converted(tmp_path: Path) -> None:
    file, cache = tmp_path / "model.gguf", tmp_path / "cache"
    file.write_bytes(b"GGUF")
    assert count(str(file), cache) is None
    assert not cache.exists(), "nothing is read or converted"
    make_once(digest_files([file], cache), lambda folder: write_tokenizer(folder) and None, cache)

    assert count(str(file), cache) == COUNTS


def test_bundled_model_has_no_counter_before_it_is_converted(tmp_path: Path) -> None:
    assert count(BUNDLED_MODEL, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_model_in_the_hub_cache_has_a_counter_and_no_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository, commit = tmp_path / "models--owner--name", "0" * 40
    write_tokenizer(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)

    assert count("owner/name") == COUNTS
    assert count("owner/other") is None


@pytest.mark.parametrize("reference", ["", "no reference!", "./missing", "./missing.gguf"])
def test_unknown_model_has_no_counter(reference: str) -> None:
    assert find_token_counter(reference) is None


@pytest.mark.parametrize("content", [b"{}", b"\xff", b""])
def test_damaged_tokenizer_has_no_counter(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)

    assert find_token_counter(str(tmp_path)) is None


def test_without_the_package_there_is_no_counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tokenizer(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    assert find_token_counter(str(folder)) is None
