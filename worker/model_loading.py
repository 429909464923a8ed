"""From the name in a selection's spec to a loaded language model."""

import os
import pkgutil

from app.settings import Settings
from lens_engine.config import CORESET_METHODS, SelectionConfig
from lens_engine.errors import UnknownModel
from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import remember_pairs

TESTING_PREFIX = "testing:"
"""`testing:package.module:function` names a function that makes a scorer, where the settings allow it."""


def load_model(settings: Settings, name: str, dtype: str | None) -> LabelScorer:
    """Load the model that the settings allow under `name`, on their device.

    Args:
        dtype: the precision of the checkpoint to resume from; None for what the settings say.

    Raises:
        UnknownModel: the settings no longer allow this name.
        ModelError: the model cannot be loaded, or its files are unsafe.
    """
    reference = settings.allowed_models.get(name)
    if reference is None:
        raise UnknownModel(f"model {name!r} is no longer one of {', '.join(sorted(settings.allowed_models))}")
    if reference.startswith(TESTING_PREFIX):
        return _make_double(reference)
    # Here, since torch must be imported after the fork and only by who needs it.
    from lens_engine.language_model.loading.load import load_scorer

    # The engine is a library of its own and knows no settings, only this variable.
    os.environ["LENS_CACHE_DIR"] = str(settings.cache_dir)
    scorer = load_scorer(reference, device=settings.device, dtype=dtype or settings.dtype, name=name)
    if not settings.pair_cache_mib:
        return scorer
    return remember_pairs(scorer, settings.pair_cache_mib << 20)


def find_fine_tuner(settings: Settings, name: str, config: SelectionConfig) -> FineTuner | None:
    """What a coreset method fine-tunes; None for other methods, and for doubles, which have no weights."""
    reference = settings.allowed_models.get(name, TESTING_PREFIX)
    if config.method not in CORESET_METHODS or reference.startswith(TESTING_PREFIX):
        return None
    from lens_engine.language_model.fine_tuning.fine_tune import FineTunedModel

    return FineTunedModel(reference, settings.device)


def _make_double(reference: str) -> LabelScorer:
    make = pkgutil.resolve_name(reference.removeprefix(TESTING_PREFIX))
    scorer: LabelScorer = make()
    return scorer
