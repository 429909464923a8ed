"""Reads the folder of an encoder: `modules.json`, which names its parts, and beside it safetensors and JSON alone.

No code of a folder is run, and no pickle is opened.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from lens_engine.embeddings.encoders import BertEncoder, Encoder, StaticEncoder
from lens_engine.errors import UnknownModel, UnreadableModel

_MOST_TOKENS = 512
"""Tokens of a text that are read where a folder names no number."""


def read_folder(folder: Path) -> tuple[Encoder, Any]:
    """Encoder and tokenizer, which were tried on a text.

    Raises:
        UnknownModel: a file is missing.
        UnreadableModel: the files are damaged, or of a kind that Lens does not read.
    """
    try:
        encoder, tokenizer = _read(folder)
        encoder.encode(list_tokens(tokenizer, encoder, "a"))
    except (UnknownModel, UnreadableModel):
        raise
    except Exception as error:  # tokenizers raises nothing narrower
        told = error.strerror if isinstance(error, OSError) else error
        raise UnreadableModel(
            f"the embedder {folder.name!r} cannot be read ({type(error).__name__}: {told})"
        ) from error
    return encoder, tokenizer


def list_tokens(tokenizer: Any, encoder: Encoder, text: str) -> list[int]:
    """The numbers of a text's tokens; half of a surrogate pair counts as a question mark."""
    text = text.encode("utf-8", "replace").decode()
    return list(tokenizer.encode(text, add_special_tokens=isinstance(encoder, BertEncoder)).ids)


def _read(folder: Path) -> tuple[Encoder, Any]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    modules = _read_json(folder / "modules.json")
    kinds = [one["type"].rpartition(".")[2] for one in modules]
    parts = [folder / one["path"] for one in modules]
    is_static = kinds[0] == "StaticEmbedding"
    if (not is_static and kinds[:2] != ["Transformer", "Pooling"]) or {*kinds[2 - is_static :]} - {"Normalize"}:
        raise UnreadableModel(f"the embedder {folder.name!r} is of {', '.join(kinds)}, which Lens does not read")
    config = _read_json(parts[0] / "config.json", {} if is_static else None)
    file = _find(parts[0] / "tokenizer.json")
    tokenizer, weights = Tokenizer.from_file(str(file)), load_file(_find(parts[0] / "model.safetensors"))
    tokenizer.no_padding()
    if is_static:
        tokenizer.enable_truncation(config.get("max_length") or _MOST_TOKENS)
        told = _read_json(file)["model"]
        unknown = told.get("unk_id", tokenizer.token_to_id(told.get("unk_token") or ""))
        return StaticEncoder(weights, unknown), tokenizer
    first = 0 if config["model_type"] == "bert" else config["pad_token_id"] + 1
    limits = _read_json(parts[0] / "sentence_bert_config.json", {})
    most = config["max_position_embeddings"] - first
    tokenizer.enable_truncation(min(limits.get("max_seq_length") or most, most))
    weights = {name: numbers.astype(np.float32, copy=False) for name, numbers in weights.items()}
    return BertEncoder(weights, _check(folder, config), first, _reads_first(folder, parts[1])), tokenizer


def _check(folder: Path, config: Any) -> Any:
    """The config of a model that `BertEncoder` computes."""
    read = {"model_type": ("bert", "roberta", "xlm-roberta"), "hidden_act": ("gelu",)}
    wrong = [f"{name} {config.get(name)}" for name, known in read.items() if config.get(name) not in known]
    if config.get("position_embedding_type", "absolute") != "absolute":
        wrong.append("relative positions")
    if wrong:
        raise UnreadableModel(f"the embedder {folder.name!r} has {' and '.join(wrong)}, which Lens does not read")
    return config


def _reads_first(folder: Path, pooling: Path) -> bool:
    """Whether the pooling is the first token; refuses others than that and the mean."""
    told = _read_json(pooling / "config.json")
    used = (name for name, is_used in told.items() if is_used is True and name.startswith("pooling_mode_"))
    mode = told.get("pooling_mode") or ", ".join(used)
    for known, reads_first in (("cls", True), ("mean", False)):
        if mode in (known, f"pooling_mode_{known}_token", f"pooling_mode_{known}_tokens"):
            return reads_first
    raise UnreadableModel(f"the embedder {folder.name!r} has the pooling {mode}, which Lens does not read")


def _find(file: Path) -> Path:
    if not file.is_file():
        raise UnknownModel(f"the embedder lacks the file {file.name}")  # clients of a service read it: no folders
    return file


def _read_json(file: Path, default: Any = None) -> Any:
    if default is not None and not file.is_file():
        return default
    return json.loads(_find(file).read_text("utf-8"))
