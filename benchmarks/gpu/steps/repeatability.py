"""Step repeatability: does one seed give the same bits again, in this process and in a fresh one?"""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import torch

from benchmarks.gpu.runner import Finding, Setting
from benchmarks.gpu.steps.exactness import small_gpt2
from benchmarks.measuring.agreement import compare_selections, select_among_few
from benchmarks.workloads.models import LoadedModel, find_model, round_weights
from benchmarks.workloads.texts import corpus_task, generate_examples
from benchmarks.workloads.tokenizer import train_tokenizer
from benchmarks.workloads.work import WORKLOADS, build_work
from experiments.rivals.fine_tuning.evidence import Evidence, TuningRows
from experiments.rivals.fine_tuning.fine_tune import fine_tune
from experiments.rivals.fine_tuning.options import FineTuningOptions
from lens_engine.language_model.loading.load import scorer_from_model, trainable_from_model
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.testing import tiny_causal_lm


def check_repeatability(setting: Setting) -> Iterator[Finding]:
    """Digests of one small selection and its scores; fine-tuning twice; the selection with each executor in float32."""
    first = digest_selection(setting)
    yield {"selection": "same process", "same": digest_selection(setting) == first, "digest": first}
    # A worker of its own for each call: a process that has done nothing before.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        fresh = list(pool.map(digest_selection, [setting] * 2))
    yield {"selection": "fresh processes", "same": set(fresh) == {first}, "digests": fresh}
    yield check_fine_tuning(setting)
    agreement = compare_selections(_load(setting, torch.float32), ("packed", "cached", "plain"))
    yield {"selection": "executors in float32", **agreement.model_dump(mode="json")}


def digest_selection(setting: Setting) -> str:
    """SHA-256 of scores, survivors and permutation, packed, in the 16-bit format that is tried first."""
    dtype = torch.float16 if torch.device(setting.device).type == "cuda" else torch.bfloat16
    loaded = _load(setting, dtype)
    scorer = scorer_from_model(loaded.model, loaded.tokenizer, executor="packed")
    work = build_work(WORKLOADS[0]).part(4 if setting.is_rehearsal else 64, 14)
    label_log_probs = scorer.score(work.prefixes, work.queries, work.label_spans)
    digest = hashlib.sha256(label_log_probs.tobytes())
    digest.update(repr(select_among_few(scorer)).encode())
    return digest.hexdigest()


def check_fine_tuning(setting: Setting) -> Finding:
    """Whether two fine-tunings of the same rows give the same bits."""
    first, second = _fine_tune(setting), _fine_tune(setting)
    return {
        "fine-tuning": first.dtype,
        "same": np.array_equal(first.features, second.features),
        "largest difference of features": float(np.abs(first.features - second.features).max()),
        "largest difference of probabilities": float(np.abs(first.probabilities - second.probabilities).max()),
    }


def _fine_tune(setting: Setting) -> Evidence:
    model = (tiny_causal_lm("llama").model if setting.is_rehearsal else small_gpt2()).to(setting.device)
    model.requires_grad_(True)
    rows = TuningRows(corpus_task("reviews"), generate_examples("reviews", 16 if setting.is_rehearsal else 128))
    tokenizer = tiny_causal_lm("llama").tokenizer if setting.is_rehearsal else train_tokenizer()
    return fine_tune(trainable_from_model(model, tokenizer), rows, options=FineTuningOptions(epochs=2))


def _load(setting: Setting, dtype: torch.dtype) -> LoadedModel:
    if setting.is_rehearsal:
        return find_model(setting.model, torch.device(setting.device), setting.tokenizer).load(dtype)
    model, tokenizer = small_gpt2(), train_tokenizer()
    rounded = round_weights(model, dtype).to(setting.device).eval().requires_grad_(False)
    return LoadedModel(rounded, tokenizer, SegmentTokenizer(tokenizer.backend_tokenizer))
