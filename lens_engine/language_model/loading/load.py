"""Loads a causal language model for scoring or training. Only this module imports transformers.

resolve the reference -> convert GGUF, once -> choose device and number format -> load
-> try the executors, fastest first, against the plain one -> CausalLMScorer
"""

import errno
import io
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_model
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lens_engine.disk.cache_folder import keep_note, make_once, read_note
from lens_engine.errors import InvalidConfig, ModelError, OutOfMemory, UnreadableModel
from lens_engine.language_model.loading.choices import DTYPES, check_device, check_dtype
from lens_engine.language_model.loading.executor_choice import EXECUTORS, ExecutorChoice, choose_executor
from lens_engine.language_model.loading.file_check import check_files
from lens_engine.language_model.loading.float32_room import has_room_in_float32
from lens_engine.language_model.loading.model_files import ModelSource, resolve_model
from lens_engine.language_model.loading.number_format import is_fit, rank_dtypes
from lens_engine.language_model.loading.self_check import make_check_workload, run_check
from lens_engine.language_model.repeatable import fix_cublas_workspace
from lens_engine.scoring.activations import fuse_activations
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.scoring.cache.environment import describe_surroundings
from lens_engine.scoring.executors import ExecutorName, PlainExecutor, TokenCounters, Workload
from lens_engine.scoring.executors.packed import ATTENTION_NAME
from lens_engine.scoring.executors.packed_attention import packed_attention
from lens_engine.scoring.memory import free_memory, is_out_of_memory, naming_memory
from lens_engine.scoring.scorer import CausalLMScorer
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.types import LabelLogProbs

__all__ = [
    "CausalLMScorer",
    "TrainableLM",
    "load_for_training",
    "load_scorer",
    "prepare_model",
    "scorer_from_model",
    "trainable_from_model",
]

TOKEN_BUDGETS = {"cpu": 1024, "cuda": 32_768}
"""Default token budget of a forward, by device: larger forwards hardly raise the rate of matrix products."""

_DTYPES = {name: getattr(torch, name) for name in DTYPES}
# Errors of transformers, gguf and safetensors for files that they cannot read.
_LOADING_FAILURES = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ImportError,
    RuntimeError,
    MemoryError,
    SafetensorError,
)
_MACHINE_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM)
_log = logging.getLogger(__name__)
_UNSTATED_CONTEXT = 2048  # for architectures without a limit (ALiBi, recurrent)


def load_scorer(
    model: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    executor: str = "auto",
    threads: int | None = None,
    name: str | None = None,
    cache_dir: Path | None = None,
) -> CausalLMScorer:
    """Load a causal language model for scoring.

    Args:
        model: a bundled name, a folder, a .gguf file or a hub id; see `lens_engine.language_model.loading.model_files`.
        dtype: "float32", "bfloat16", "float16", or "auto" for the most precise format that is about as
            fast as the fastest on this device (measured) and that keeps this model's scores.
        device: a torch device, or "auto" for CUDA where there is one.
        executor: "packed", "cached", "plain", or "auto" for the fastest that is right for this model.
        threads: number of torch threads on the CPU, for the whole process; None does not change it.
        name: name of the model in results, to keep its path private; None for `model`.
        cache_dir: folder of converted weights; None for `LENS_CACHE_DIR` or ~/.cache/lens.

    Raises:
        UnknownModel, UnsafeModel: see `resolve_model`.
        InvalidConfig: dtype, device or executor is not one of the above.
        OutOfMemory: the device has too little memory to load the model or to try it.
        ModelError: the model cannot be loaded for another reason, or is not right with the executor asked for.
    """
    names = _parse_executor(executor)
    torch_device = _open_device(device)
    dtypes = _parse_dtype(dtype, torch_device)
    if threads is not None:
        torch.set_num_threads(threads)
    with _quiet_transformers():
        source, folder, tokenizer = _open(model, cache_dir)
        content = ["check", source.revision, dtypes, names, *describe_surroundings(str(torch_device))]
        key = json.loads(json.dumps(content, default=str))
        loaded, chosen = _load_as_before(read_note(key, cache_dir), folder, dtypes, torch_device, names)
        keep_note(key, f"{loaded.dtype} {chosen.name}\n{chosen.note or ''}", cache_dir)
    return _assemble(loaded, tokenizer, name or source.name, source.revision, chosen)


@dataclass(frozen=True)
class TrainableLM:
    """A language model without its head, to train a classifier on its hidden states."""

    body: Any  #: a torch module in float32; called with token ids [rows, tokens], it gives `last_hidden_state`
    tokenizer: SegmentTokenizer
    max_tokens: int  #: longest prompt (tokens)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.body.parameters()).device
        return device


def load_for_training(
    model: str,
    *,
    device: str = "auto",
    threads: int | None = None,
    name: str | None = None,
    cache_dir: Path | None = None,
) -> TrainableLM:
    """Load a causal language model in float32, to be trained in place. Arguments as in `load_scorer`.

    Raises:
        UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer`.
    """
    torch_device = _open_device(device)
    if threads is not None:
        torch.set_num_threads(threads)
    with _quiet_transformers():
        _, folder, tokenizer = _open(model, cache_dir)
        return trainable_from_model(_load_model(folder, torch.float32, torch_device), tokenizer, name=name or model)


def trainable_from_model(model: Any, tokenizer: Any, *, name: str = "in-memory") -> TrainableLM:
    """A `TrainableLM` from a loaded transformers model; both share their weights.

    Raises:
        ModelError: the tokenizer is not a fast one.
    """
    return TrainableLM(model.base_model, _segment_tokenizer(tokenizer, name), _context_length(model))


def prepare_model(reference: str, cache_dir: Path | None = None) -> Path:
    """Find the model and convert GGUF before the first loading; returns a folder with safetensors.

    Raises:
        UnknownModel, UnsafeModel, ModelError: as `load_scorer`.
    """
    with _quiet_transformers():
        return _prepare(resolve_model(reference, cache_dir), cache_dir)


def scorer_from_model(
    model: Any, tokenizer: Any, *, name: str = "in-memory", revision: str = "unknown", executor: str = "auto"
) -> CausalLMScorer:
    """A scorer over a loaded transformers model, in its number format and on its device.

    The model is left as it is; `fuse_activations` makes some models faster.

    Raises:
        InvalidConfig, ModelError: as `load_scorer`.
    """
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    model.eval()
    work = _check_workload(model)
    chosen = choose_executor(model, _parse_executor(executor), work)
    return _assemble(model, tokenizer, name, revision, chosen)


def _load_as_before(
    note: str | None, folder: Path, dtypes: Sequence[torch.dtype], device: torch.device, names: Sequence[ExecutorName]
) -> tuple[Any, ExecutorChoice]:
    """The model as `_load_checked` gives it. `note` is the outcome of an earlier check of the same files.

    The check computes the same again, and takes as long as seconds of scoring. So its outcome is kept, for this
    model, these versions and this hardware.
    """
    outcome, _, why = (note or "").partition("\n")
    for dtype in dtypes:
        for name in names:
            if outcome == f"{dtype} {name}":
                AttentionInterface.register(ATTENTION_NAME, packed_attention)
                return _load_model(folder, dtype, device), ExecutorChoice(name, why or None)
    return _load_checked(folder, dtypes, device, names)


def _load_checked(
    folder: Path, dtypes: Sequence[torch.dtype], device: torch.device, names: Sequence[ExecutorName]
) -> tuple[Any, ExecutorChoice]:
    """The model in the first suitable format of `dtypes`, and the first executor that is right for it.

    In 16 bits a wrong mask and rounding may give similar errors, so executors are first checked in float32 if the
    float32 model fits into memory.
    """
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    if dtypes[0] == torch.float32:
        model = _load_model(folder, torch.float32, device)
        return model, choose_executor(model, names, _check_workload(model))
    check = _check_in_float32(folder, device, names) if names[0] != "plain" or len(dtypes) > 1 else None
    free_memory()
    model = _load_fit(folder, dtypes, device, None if check is None else check.scores)
    if check is None:
        return model, choose_executor(model, names, _check_workload(model))
    if device.type != "cuda" or model.dtype == torch.float32:
        return model, check.choice
    # On CUDA, 16-bit formats use another kernel, which the check in float32 does not cover.
    names = names[names.index(check.choice.name) :]
    choice = choose_executor(model, names, _check_workload(model), check.scores)
    return model, choice.with_earlier(check.choice.note)


@dataclass(frozen=True, slots=True)
class _Float32Check:
    """What the model gives in float32."""

    choice: ExecutorChoice
    scores: LabelLogProbs  #: of the plain executor on the check's workload  # [prefixes, queries, labels]


def _check_in_float32(folder: Path, device: torch.device, names: Sequence[ExecutorName]) -> _Float32Check | None:
    """Load the model in float32, check it and drop it; None if memory is too small for that."""
    with _as_model_error(folder.name):
        if not has_room_in_float32(folder, device):
            return None
    try:
        model = _load_model(folder, torch.float32, device)
        work = _check_workload(model)
        return _Float32Check(
            choose_executor(model, names, work), run_check(PlainExecutor(model, TokenCounters()), work)
        )
    except OutOfMemory as error:  # others use the device too; the model may still fit in 16 bits
        _log.warning("the model is not checked in float32: %s", str(error))
        return None


def _load_fit(
    folder: Path, dtypes: Sequence[torch.dtype], device: torch.device, reference: LabelLogProbs | None
) -> Any:
    """The model in the first format of `dtypes` that keeps its scores; the last format is not checked.

    Without a reference in float32, float16 is skipped if there are others, because an overflow may stay finite.
    """
    if reference is None and len(dtypes) > 1:
        dtypes = [dtype for dtype in dtypes if dtype != torch.float16]
    for dtype in dtypes[:-1]:
        model = _load_model(folder, dtype, device)
        if is_fit(run_check(PlainExecutor(model, TokenCounters()), _check_workload(model)), reference):
            return model
        _log.warning("number format %s changes the model's scores too much; trying the next format", dtype)
        del model
        free_memory()
    return _load_model(folder, dtypes[-1], device)


def _assemble(model: Any, tokenizer: Any, name: str, revision: str, choice: ExecutorChoice) -> CausalLMScorer:
    weights = next(model.parameters())
    counters = TokenCounters()
    if choice.note:
        _log.warning("%s runs slower, with the executor %s: %s", name, choice.name, choice.note)
    return CausalLMScorer(
        EXECUTORS[choice.name](model, counters),
        _segment_tokenizer(tokenizer, name),
        ScorerIdentity(
            model=name,
            revision=revision,
            dtype=str(weights.dtype).removeprefix("torch."),
            device=weights.device.type,
            executor=choice.name,
            executor_note=choice.note,
        ),
        max_prompt_tokens=_context_length(model),
        token_budget=TOKEN_BUDGETS.get(weights.device.type, TOKEN_BUDGETS["cpu"]),
        counters=counters,
        surroundings=describe_surroundings(str(weights.device)),
    )


def _segment_tokenizer(tokenizer: Any, name: str) -> SegmentTokenizer:
    if not getattr(tokenizer, "is_fast", False):
        raise UnreadableModel(
            f"model {name!r} cannot be loaded: it has no fast tokenizer; put the tokenizer.json of the model into the "
            "folder"
        )
    return SegmentTokenizer(tokenizer.backend_tokenizer)


def _open(reference: str, cache_dir: Path | None) -> tuple[ModelSource, Path, Any]:
    """The source of a model, the folder with its safetensors, and its tokenizer."""
    source = resolve_model(reference, cache_dir)
    check_files(source)
    folder = _prepare(source, cache_dir)
    return source, folder, _load_tokenizer(folder)


def _prepare(source: ModelSource, cache_dir: Path | None) -> Path:
    if not source.is_gguf:
        return source.path
    with _as_model_error(source.path.name):  # also for a full disk
        return make_once(source.revision, lambda folder: _convert_gguf(source.path, folder), cache_dir)


def _convert_gguf(file: Path, folder: Path) -> None:
    """Dequantise a GGUF file to float32 safetensors. This is done once, because transformers needs half a minute."""
    origin = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    with redirect_stderr(io.StringIO()):  # its progress bar cannot be switched off
        model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **origin)
        AutoTokenizer.from_pretrained(file.parent, **origin).save_pretrained(folder)
        config = model.config.to_dict()
    config.pop("quantization_config", None)  # the weights are no longer quantised
    config["architectures"] = [type(model).__name__]
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True), "utf-8")
    save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})


def _load_tokenizer(folder: Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except _LOADING_FAILURES as error:
        raise UnreadableModel(
            f"model {folder.name!r} cannot be loaded: transformers cannot read its tokenizer; put the tokenizer.json "
            "of the model into the folder"
        ) from error


def _load_model(folder: Path, dtype: torch.dtype, device: torch.device) -> Any:
    with _as_model_error(folder.name):
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True, trust_remote_code=False
        )
        fuse_activations(model)
        return model.to(device).eval().requires_grad_(False)


def _check_workload(model: Any) -> Workload:
    return make_check_workload(model.config.get_text_config().vocab_size, _context_length(model))


def _context_length(model: Any) -> int:
    """The context (tokens). A model that also reads images has it in the config of its text part."""
    return int(getattr(model.config.get_text_config(), "max_position_embeddings", None) or _UNSTATED_CONTEXT)


def _parse_dtype(name: str, device: torch.device) -> list[torch.dtype]:
    """The number formats to try, in order."""
    if name == "auto":
        with naming_memory("while number formats were compared; free the device, or name a dtype"):
            return rank_dtypes(device)
    check_dtype(name)
    return [_DTYPES[name]]


def _open_device(name: str) -> torch.device:
    """The device, ready for its first product."""
    device = _parse_device(name)
    fix_cublas_workspace(device)
    return device


def _parse_device(name: str) -> torch.device:
    check_device(name)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InvalidConfig(f"device {name!r} is not a torch device; use auto, cpu or cuda", field="device") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidConfig(f"device {name!r}: torch sees no CUDA device here; use auto or cpu", field="device")
    return device


def _parse_executor(name: str) -> list[ExecutorName]:
    if name == "auto":
        return list(EXECUTORS)
    for known in EXECUTORS:
        if name == known:
            return [known]
    raise InvalidConfig(f"executor {name!r} is not one of auto, {', '.join(EXECUTORS)}", field="executor")


@contextmanager
def _as_model_error(name: str) -> Iterator[None]:
    try:
        yield
    except _LOADING_FAILURES as error:
        raise _failure(error)(f"model {name!r} cannot be loaded: {_first_line(error)}") from error


def _failure(error: Exception) -> type[ModelError]:
    if is_out_of_memory(error):
        return OutOfMemory
    is_of_the_machine = isinstance(error, OSError) and error.errno in _MACHINE_FAILURES
    return ModelError if is_of_the_machine else UnreadableModel


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """A context without transformers' progress bars, because the caller may draw its own."""
    was_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_enabled:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
