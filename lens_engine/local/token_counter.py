"""Counts the tokens of texts without the model: its `tokenizer.json` is enough. Does not import torch.

The API process offers models that only workers load, and may run without the packages of the model.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lens_engine.errors import UnknownModel
from lens_engine.local.model_files import find_model_folder

if TYPE_CHECKING:
    from lens_engine.scoring.tokenization import SegmentTokenizer

CountTokens = Callable[[Sequence[str]], list[int]]


def find_token_counter(reference: str, cache_dir: Path | None = None) -> CountTokens | None:
    """The function that counts the tokens of each text as the scorer of a model does; several threads may call it.

    Reading a tokenizer takes up to seconds, so keep the function.

    Args, Returns: as `find_tokenizer`.
    """
    tokenizer = find_tokenizer(reference, cache_dir)
    return None if tokenizer is None else tokenizer.count_once


def find_tokenizer(reference: str, cache_dir: Path | None = None) -> "SegmentTokenizer | None":
    """The tokenizer of a model, by its `tokenizer.json`.

    Nothing is downloaded or converted. The scorer tokenises otherwise if transformers reads the class of a tokenizer
    from its config, and `tokenizer.json` is not as that class.

    Args:
        reference: as `resolve_model` takes it.
        cache_dir: folder of converted weights; None for the default folder.

    Returns:
        None if the package `tokenizers` is not installed, or no readable `tokenizer.json` of the model is on this
        machine: an unknown model, one not downloaded yet, or a GGUF file that no worker has loaded yet.
    """
    try:
        from tokenizers import Tokenizer

        from lens_engine.scoring.tokenization import SegmentTokenizer
    except ImportError:  # of the extra `model`
        return None
    try:
        folder = find_model_folder(reference, cache_dir)
        if folder is None:
            return None
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except (UnknownModel, OSError, ValueError):
        return None
    return SegmentTokenizer(tokenizer)
