"""Opens a language model for scoring."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lens_engine.errors import InvalidConfig
from lens_engine.model.base import LabelScorer
from lens_engine.model.local.choices import check_device, check_dtype, limit_threads
from lens_engine.model.local.model_files import ModelSource, check_files, mention_first_load, resolve_model
from lens_engine.model.score_cache import DEFAULT_MAX_BYTES, remember_pairs
from lens_engine.model.servers.address import Endpoint, parse_endpoint


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model as a selection uses it."""

    scorer: LabelScorer

    def __repr__(self) -> str:
        identity = self.scorer.identity
        return f"LanguageModel({identity.model}, {identity.dtype}, {identity.device})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "LanguageModel":
        """Itself. scikit-learn copies the parameters of an estimator for each fold, and weights may have gigabytes."""
        return self


def check_choice(
    reference: str, dtype: str = "auto", device: str = "auto", cache_dir: Path | None = None
) -> ModelSource:
    """The files of a model. Refuses wrong names and damaged files at once, because importing torch takes seconds."""
    check_dtype(dtype)
    check_device(device)
    source = resolve_model(reference, cache_dir)
    check_files(source)
    return source


def open_model(
    reference: str | Endpoint,
    *,
    dtype: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    name: str | None = None,
    cache_dir: Path | None = None,
    pair_cache_bytes: int | None = DEFAULT_MAX_BYTES,
) -> LanguageModel:
    """Load a causal language model, and keep its scores on disk between runs.

    A model behind a server is an `Endpoint`, or KIND:NAME@URL, such as "vllm:our-model@http://127.0.0.1:8000". It
    needs no torch here, and has no dtype, device and threads.

    What takes longer than two seconds is a line of the logger `lens_engine.model.local.steps` (INFO): the
    first load of a GGUF file, a digest, a download, the trial of a model.

    Args:
        reference, dtype, device, name: as `load_scorer` takes them.
        threads: number of torch threads on the CPU, for the whole process; None for OMP_NUM_THREADS, or else for the
            processors that this process, or its container, may use.
        cache_dir: folder of converted weights and of the pair cache; None for `LENS_CACHE_DIR` or ~/.cache/lens.
        pair_cache_bytes: largest size of the pair cache, or of the file of a server's answers (bytes); None keeps no
            scores. The cache changes no result.

    Raises:
        UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer` or `open_endpoint`.
    """
    endpoint = reference if isinstance(reference, Endpoint) else parse_endpoint(reference)
    if endpoint is not None:
        return LanguageModel(_connect(endpoint, name, cache_dir, pair_cache_bytes))
    assert isinstance(reference, str)
    mention_first_load(check_choice(reference, dtype, device, cache_dir), cache_dir)
    # Imported here, because a user of the types does not need torch.
    import torch

    from lens_engine.model.local.load import load_scorer

    threads = threads or limit_threads(torch.get_num_threads())
    scorer = load_scorer(reference, dtype=dtype, device=device, threads=threads, name=name, cache_dir=cache_dir)
    if pair_cache_bytes is None:
        return LanguageModel(scorer)
    return LanguageModel(remember_pairs(scorer, pair_cache_bytes, cache_dir))


def _connect(endpoint: Endpoint, name: str | None, cache_dir: Path | None, answer_bytes: int | None) -> LabelScorer:
    try:  # it needs packages that a model on this machine does not
        from lens_engine.model.servers.scorer import open_endpoint
    except ModuleNotFoundError as error:
        raise InvalidConfig(
            f"a model behind a server needs {error.name}, which is not installed; in the folder of Lens, run: "
            "pip install -c constraints.txt '.[endpoint]'",
            field="model",
        ) from error
    return open_endpoint(endpoint, name=name, cache_dir=cache_dir, answer_bytes=answer_bytes)
