"""Suspicious labels beside those of cleanlab, on the same predictions.

    python -m lab.benchmarks.suspicious_labels train.jsonl --flip 0.03 --seed 1

Some labels are flipped by a seed. Precision and recall count the flipped rows among those that were judged. The lists
have their default lengths. `cleanlab` is of the extra `bench`.
"""

import argparse
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

from lens_engine import Example, Problem, Task, open_model, read_examples, resolve_config, select_support_examples
from lens_engine.classifier import suspicion
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.randomness import make_generator
from lens_engine.run import classifying
from lens_engine.types import FloatArray, IndexArray

_CONSOLE = Console(highlight=False, soft_wrap=True)


def main() -> None:
    arguments = _parse()
    examples = read_examples(arguments.data)[: arguments.rows]
    labels = sorted({example.label for example in examples})
    generator = make_generator(arguments.seed, "flip")
    chosen = generator.choice(len(examples), round(arguments.flip * len(examples)), replace=False)
    flipped = {examples[place].row for place in chosen}
    noisy = [_flip(one, labels, generator) if one.row in flipped else one for one in examples]
    calls: list[tuple[FloatArray, IndexArray, list[int]]] = []

    def record(log_probs: FloatArray, gold: IndexArray, rows: Any, names: Any) -> Any:
        calls.append((log_probs, gold, list(rows)))
        return suspicion.find_suspicious(log_probs, gold, rows, names)

    options = {"method": "zero_shot", "comparisons": "none", "seed": arguments.seed}
    began = time.perf_counter()
    with patch.object(classifying, "find_suspicious", record):
        task, model = Task.for_examples(noisy), open_model(arguments.model)
        result = select_support_examples(
            Problem(task, noisy), model.scorer, resolve_config("quick", options), progress=False
        )
    found = [one.row for one in result.suspicious_labels]
    # The call of the classifier to use is that whose list the result has.
    log_probs, gold, rows = next(
        call for call in calls if [one.row for one in suspicion.find_suspicious(*call, task.labels)] == found
    )
    _CONSOLE.print(f"{result.verdict.sentence} {time.perf_counter() - began:.0f} s")
    _CONSOLE.print(f"{len(rows)} rows judged, {len(flipped & set(rows))} of them flipped")
    _show("lens", found, flipped & set(rows))
    for name, places in _ask_cleanlab(np.exp(log_probs), gold).items():
        _show(f"cleanlab {name}", [rows[place] for place in places], flipped & set(rows))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--flip", type=float, default=0.03)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default=BUNDLED_MODEL)
    return parser.parse_args()


def _flip(example: Example, labels: list[str], generator: np.random.Generator) -> Example:
    others = [label for label in labels if label != example.label]
    return replace(example, label=others[generator.integers(len(others))])


def _ask_cleanlab(probabilities: FloatArray, gold: IndexArray) -> dict[str, list[int]]:
    find: Any = import_module("cleanlab.filter").find_label_issues  # without types, and not always installed
    ways = ("prune_by_noise_rate", "confident_learning")
    ranked = {"return_indices_ranked_by": "normalized_margin"}
    return {way: find(gold, probabilities, filter_by=way, **ranked).tolist() for way in ways}


def _show(name: str, found: list[int], flipped: set[int]) -> None:
    hits = len(flipped.intersection(found))
    precision, recall = hits / max(len(found), 1), hits / max(len(flipped), 1)
    _CONSOLE.print(f"{name:<30} {len(found):>4} rows  precision {precision:.3f}  recall {recall:.3f}")


if __name__ == "__main__":
    main()
