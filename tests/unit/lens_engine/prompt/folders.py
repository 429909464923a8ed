"""Folders of static embedders with a few words."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

VECTORS = {"parcel": (3.0, 4.0), "late": (0.0, 2.0), "film": (-2.0, 0.0), "good": (-1.0, 1.0)}
SIMILAR = {"package": (6.0, 8.2), "movie": (-3.0, 0.1)}


def write_static(folder: Path, vectors: Mapping[str, tuple[float, ...]] = VECTORS, **more: np.ndarray) -> Path:
    """A folder in the layout of Model2Vec; `more`: `weights` and `mapping`, as it has them of a smaller vocabulary."""
    folder.mkdir()
    words = {word: place for place, word in enumerate([*vectors, "[UNK]"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = np.array([*vectors.values(), (9.0,) * 2], dtype=np.float32)
    save_file({"embeddings": rows, **more}, folder / "model.safetensors")
    write_json(folder / "config.json", {"model_type": "model2vec", "normalize": True})
    modules = [{"path": "", "type": "sentence_transformers.models.StaticEmbedding"}]
    write_json(
        folder / "modules.json", [*modules, {"path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}]
    )
    return folder


def write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content))
