"""Loads a causal language model for scoring.

resolve the reference -> convert GGUF, once -> choose device and number format -> load
-> try the executors, fastest first, against the plain one -> CausalLMScorer
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AttentionInterface

from lens_engine.disk import keep_note, read_note
from lens_engine.errors import OutOfMemory
from lens_engine.model.base import ScorerIdentity
from lens_engine.model.local.executor_choice import ExecutorChoice, choose_executor, make_check_workload, run_check
from lens_engine.model.local.executors import ExecutorName, PlainExecutor, TokenCounters, Workload
from lens_engine.model.local.executors.base import StateTap
from lens_engine.model.local.executors.layout import packed_attention
from lens_engine.model.local.executors.packed import ATTENTION_NAME
from lens_engine.model.local.memory import free_memory, has_room_in_float32
from lens_engine.model.local.model_reader import (
    as_model_error,
    context_length,
    load_model,
    open_files,
    quiet_transformers,
    segment_tokenizer,
)
from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.model.local.steps import mentioned_if_slow
from lens_engine.model.local.torch_choices import describe_surroundings, open_device, parse_dtype, parse_executor
from lens_engine.types import LabelLogProbs

TOKEN_BUDGETS = {"cpu": 1024, "cuda": 32_768}
"""Default token budget of a forward, by device: larger forwards hardly raise the rate of matrix products."""

_log = logging.getLogger(__name__)


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
        model: a bundled name, a folder, a .gguf file or a hub id; see `lens_engine.model.local.model_files`.
        dtype: "float32", "bfloat16", "float16", or "auto" for bfloat16 where the device has units for it, else float32.
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
    names = parse_executor(executor)
    torch_device = open_device(device)
    number_format = parse_dtype(dtype, torch_device)
    if threads is not None:
        torch.set_num_threads(threads)
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    with quiet_transformers():
        source, folder, tokenizer = open_files(model, cache_dir)
        surroundings = describe_surroundings(str(torch_device))
        key = ["check", source.revision, str(number_format), names, *surroundings]
        note = read_note(key, cache_dir)
        tried = "" if note else ", and trying it on a few random prompts to find the fastest way to run it, once"
        with mentioned_if_slow(f"loading the weights of {name or source.name}{tried}"):
            loaded, chosen = _load_as_before(note, folder, number_format, torch_device, names)
        keep_note(key, json.dumps(asdict(chosen)), cache_dir)
    return _assemble(loaded, tokenizer, name or source.name, source.revision, chosen)


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
    chosen = choose_executor(model, parse_executor(executor), _check_workload(model))
    return _assemble(model, tokenizer, name, revision, chosen)


def _load_as_before(
    note: str | None, folder: Path, dtype: torch.dtype, device: torch.device, names: Sequence[ExecutorName]
) -> tuple[Any, ExecutorChoice]:
    """The model as `_load_checked` gives it. `note` is the outcome of an earlier check of the same files.

    The check computes the same again, and takes as long as seconds of scoring. So its outcome is kept, for this
    model, these versions and this hardware.
    """
    try:
        chosen = ExecutorChoice(**json.loads(note or ""))
    except (ValueError, TypeError):  # there is no note, or it is damaged
        return _load_checked(folder, dtype, device, names)
    return load_model(folder, dtype, device), chosen


def _load_checked(
    folder: Path, dtype: torch.dtype, device: torch.device, names: Sequence[ExecutorName]
) -> tuple[Any, ExecutorChoice]:
    """The model in this format, and the first executor that is right for it.

    In 16 bits a wrong mask and rounding may give similar errors, so executors are first checked in float32 if the
    float32 model fits into memory.
    """
    is_rounded = dtype != torch.float32 and names[0] != "plain"
    check = _check_in_float32(folder, device, names) if is_rounded else None
    free_memory()
    model = load_model(folder, dtype, device)
    if check is None:
        return model, choose_executor(model, names, _check_workload(model))
    if device.type != "cuda":
        return model, check.choice
    # On CUDA, 16-bit formats use another kernel, which the check in float32 does not cover.
    names = names[names.index(check.choice.name) :]
    beyond: tuple[ExecutorName, ...] = (check.choice.beyond or "cached", "plain")
    choice = choose_executor(model, names, _check_workload(model), check.scores, beyond=beyond)
    refused = "; ".join(filter(None, [check.choice.refused, choice.refused])) or None
    return model, replace(choice, refused=refused)


@dataclass(frozen=True, slots=True)
class _Float32Check:
    """What the model gives in float32."""

    choice: ExecutorChoice
    scores: LabelLogProbs  #: of the plain executor on the check's workload  # [prefixes, queries, labels]


def _check_in_float32(folder: Path, device: torch.device, names: Sequence[ExecutorName]) -> _Float32Check | None:
    """Load the model in float32, check it and drop it; None if memory is too small for that."""
    with as_model_error(folder.name):
        if not has_room_in_float32(folder, device):
            return None
    try:
        model = load_model(folder, torch.float32, device)
        work = _check_workload(model)
        return _Float32Check(
            choose_executor(model, names, work), run_check(PlainExecutor(model, TokenCounters()), work)
        )
    except OutOfMemory as error:  # others use the device too; the model may still fit in 16 bits
        _log.warning("the model is not checked in float32: %s", str(error))
        return None


def _assemble(model: Any, tokenizer: Any, name: str, revision: str, choice: ExecutorChoice) -> CausalLMScorer:
    weights = next(model.parameters())
    counters = TokenCounters()
    if choice.refused:
        _log.warning("%s runs slower, with the executor %s: %s", name, choice.name, choice.refused)
    return CausalLMScorer(
        choice.make(model, counters),
        segment_tokenizer(tokenizer, name),
        ScorerIdentity(
            model=name,
            revision=revision,
            dtype=str(weights.dtype).removeprefix("torch."),
            device=weights.device.type,
            executor=choice.name,
            executor_note=choice.note,
            beyond_window=choice.beyond,
        ),
        max_prompt_tokens=context_length(model),
        token_budget=TOKEN_BUDGETS.get(weights.device.type, TOKEN_BUDGETS["cpu"]),
        counters=counters,
        surroundings=describe_surroundings(str(weights.device)),
        tap=StateTap(model),
    )


def _check_workload(model: Any) -> Workload:
    return make_check_workload(model.config.get_text_config().vocab_size, context_length(model))
