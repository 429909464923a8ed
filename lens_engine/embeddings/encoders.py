"""Encoders, from the tokens of a text to its vector, in numpy: they need no torch.

Each text is computed alone, so its vector is the same whatever stands beside it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import float32
from numpy.typing import NDArray

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
