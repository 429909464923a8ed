"""Folders of static embedders with a few words."""

import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

VECTORS = {"parcel": (3.0, 4.0), "late": (0.0, 2.0), "film": (-2.0, 0.0), "good": (-1.0, 1.0)}
SIMILAR = {"package": (6.0, 8.2), "movie": (-3.0, 0.1)}


def write_letters(folder: Path) -> Path:
    """A folder of an embedder that counts letters, whatever their order, in 32 numbers."""
    numbers = np.random.default_rng(0).normal(size=(len(string.printable), 32)).tolist()
    split = pre_tokenizers.Split(Regex("."), "isolated")
    return write_static(folder, dict(zip(string.printable, numbers, strict=True)), split)


def write_static(
    folder: Path, vectors: Mapping[str, Sequence[float]] = VECTORS, split: Any = None, **more: np.ndarray
) -> Path:
    """A folder in the layout of Model2Vec; `more`: `weights` and `mapping`, as it has them of a smaller vocabulary."""
    folder.mkdir()
    words = {word: place for place, word in enumerate([*vectors, "[UNK]"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = split or pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    size = len(next(iter(vectors.values())))
    rows = np.array([*vectors.values(), (9.0,) * size], dtype=np.float32)
    save_file({"embeddings": rows, **more}, folder / "model.safetensors")
    write_json(folder / "config.json", {"model_type": "model2vec", "normalize": True})
    modules = [{"path": "", "type": "sentence_transformers.models.StaticEmbedding"}]
    write_json(
        folder / "modules.json", [*modules, {"path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}]
    )
    return folder


def write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content))
