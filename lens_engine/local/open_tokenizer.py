"""Opens the tokenizer of a language model without its weights."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lens_engine.local.model_files import mention_first_load, resolve_model

if TYPE_CHECKING:
    from lens_engine.scoring.tokenization import SegmentTokenizer


class OpenTokenizer(NamedTuple):
    """A tokenizer, and the revision of the model that it belongs to."""

    tokenizer: "SegmentTokenizer"
    revision: str


def open_tokenizer(reference: str, cache_dir: Path | None = None) -> OpenTokenizer:
    """The tokenizer of a model.

    Args:
        reference, cache_dir: as `open_model` takes them. A GGUF file is converted first, as for `open_model`.

    Raises:
        UnknownModel, UnsafeModel, UnreadableModel: as `open_model`.
    """
    mention_first_load(resolve_model(reference, cache_dir), cache_dir)
    # Imported here, because this module imports torch.
    from lens_engine.local.model_reader import open_files, quiet_transformers, segment_tokenizer

    with quiet_transformers():
        source, _, tokenizer = open_files(reference, cache_dir)
    return OpenTokenizer(segment_tokenizer(tokenizer, source.name), source.revision)
