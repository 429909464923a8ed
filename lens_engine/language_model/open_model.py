"""A language model that is open: it scores, and it can be fine-tuned."""

from dataclasses import dataclass
from pathlib import Path

from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import DEFAULT_MAX_BYTES, remember_pairs


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """What a selection asks of a language model."""

    scorer: LabelScorer
    fine_tuner: FineTuner | None  #: None for a scorer without weights; it loads the model anew when it is called


def open_model(
    reference: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    name: str | None = None,
    cache_dir: Path | None = None,
    pair_cache_bytes: int | None = DEFAULT_MAX_BYTES,
) -> LanguageModel:
    """Load a causal language model, with its scores kept on disk between runs.

    Args:
        reference, dtype, device, threads, name: as `load_scorer` takes them.
        cache_dir: folder of converted weights and of the pair cache; None for `LENS_CACHE_DIR` or ~/.cache/lens.
        pair_cache_bytes: largest size of the pair cache (bytes); None keeps no scores. The cache changes no result.

    Raises:
        UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer`.
        ValueError: `pair_cache_bytes` is too small; see `PairCache`.
    """
    # Here, since these import torch, and whoever names the types alone has no need of it.
    from lens_engine.language_model.fine_tuning.fine_tune import FineTunedModel
    from lens_engine.language_model.loading.load import load_scorer

    scorer: LabelScorer = load_scorer(
        reference, dtype=dtype, device=device, threads=threads, name=name, cache_dir=cache_dir
    )
    if pair_cache_bytes is not None:
        scorer = remember_pairs(scorer, pair_cache_bytes, cache_dir)
    return LanguageModel(scorer, FineTunedModel(reference, device, cache_dir))
