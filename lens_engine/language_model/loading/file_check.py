"""Finds damaged and missing files of a model before torch is imported, which takes seconds. Nothing is unpickled."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lens_engine.errors import UnreadableModel
from lens_engine.language_model.loading.model_files import ModelSource

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.*")
_SHARDS = "model.safetensors.index.json"
_LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header, which says where each tensor ends."""

_MAX_HEADER_BYTES = 100_000_000
_GGUF_MAGIC = b"GGUF"


def check_files(source: ModelSource) -> None:
    """Look at the sizes and beginnings of a model's files.

    Raises:
        UnreadableModel: a file is cut off, damaged or missing.
    """
    if source.is_gguf:
        with source.path.open("rb") as file:
            if file.read(len(_GGUF_MAGIC)) != _GGUF_MAGIC:
                raise _refusal(source.path, f"{source.path.name} is no GGUF file; download it again")
        return
    folder = source.path
    for file_path in sorted(folder.glob("*.safetensors")):
        if not _is_whole(file_path):
            raise _refusal(folder, f"{file_path.name} is damaged or cut off; download it again")
    missing = [name for name in _shards(folder) if not (folder / name).is_file()]
    if missing:
        raise _refusal(folder, f"{missing[0]} is missing; download it again")
    if not any(any(folder.glob(name)) for name in _TOKENIZER_FILES):
        raise _refusal(folder, "it has no tokenizer; put the tokenizer.json of the model into the folder")


def _refusal(path: Path, reason: str) -> UnreadableModel:
    return UnreadableModel(f"model {path.name!r} cannot be loaded: {reason}")


def _is_whole(file: Path) -> bool:
    """Whether a safetensors file has a header, and is as long as its header says."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        header_bytes = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if not 0 < header_bytes <= min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
            return False
        try:
            ends = [int(end) for end in _tensor_ends(json.loads(stream.read(header_bytes)))]
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return False
    return size == _LENGTH_BYTES + header_bytes + max(ends, default=0)


def _tensor_ends(header: Any) -> Iterator[Any]:
    return (tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__")


def _shards(folder: Path) -> list[str]:
    """Names of the files of weights by the index, if there is an index."""
    try:
        weights = json.loads((folder / _SHARDS).read_text("utf-8"))["weight_map"]
        return sorted(set(map(str, weights.values())))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []
