"""Looks at the files of a model before torch is imported, which takes seconds: damage, and the number of weights.

Nothing is unpickled.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lens_engine.errors import UnreadableModel
from lens_engine.local.model_files import ModelSource

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.*")
_SINGLE = "model.safetensors"  # transformers reads it alone, whatever else is there
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


@dataclass(frozen=True, slots=True)
class Header:
    """The beginning of a safetensors file."""

    tensors: dict[str, Any]  #: type, shape and place of each tensor, by its name
    data_start: int  #: where the tensors begin (bytes)


def read_header(file: Path) -> Header:
    """Read the header of a safetensors file, and no tensor.

    Raises:
        ValueError: the file is cut off, or its beginning is no header.
    """
    with file.open("rb") as stream:
        header_bytes = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if not 0 < header_bytes <= min(file.stat().st_size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
            raise ValueError(f"{file.name} has no header")
        try:
            tensors = json.loads(stream.read(header_bytes))
        except RecursionError as error:
            raise ValueError(f"the header of {file.name} is nested too deep") from error
    if not isinstance(tensors, dict):
        raise ValueError(f"the header of {file.name} is not an object")
    tensors.pop("__metadata__", None)
    return Header(tensors, _LENGTH_BYTES + header_bytes)


def count_weights(folder: Path) -> int:
    """Number of weights in a folder's safetensors, of those files that transformers reads. No tensor is read.

    Raises:
        ValueError, LookupError, TypeError: a header is damaged.
    """
    single = folder / _SINGLE
    files = [single] if single.is_file() else [folder / name for name in _shards(folder)]
    headers = [read_header(file) for file in files or sorted(folder.glob("*.safetensors"))]
    return sum(math.prod(tensor["shape"]) for header in headers for tensor in header.tensors.values())


def _refusal(path: Path, reason: str) -> UnreadableModel:
    return UnreadableModel(f"model {path.name!r} cannot be loaded: {reason}")


def _is_whole(file: Path) -> bool:
    """Whether a safetensors file has a header, and is as long as its header says."""
    try:
        header = read_header(file)
        ends = [int(tensor["data_offsets"][1]) for tensor in header.tensors.values()]
    except (ValueError, TypeError, LookupError, AttributeError):
        return False
    return file.stat().st_size == header.data_start + max(ends, default=0)


def _shards(folder: Path) -> list[str]:
    """Names of the files of weights by the index, if there is an index."""
    try:
        weights = json.loads((folder / _SHARDS).read_text("utf-8"))["weight_map"]
        return sorted(set(map(str, weights.values())))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []
