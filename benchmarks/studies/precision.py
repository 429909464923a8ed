"""What do 16 bits and TF32 cost in accuracy? The same prompts in each number format, against float32.

python -m benchmarks.studies.precision --data train.jsonl --template '{text} It was {label}.' \
    --verbalizer positive=great --verbalizer negative=terrible
"""

import argparse
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.report.page import write_study
from benchmarks.report.records import describe_machine
from benchmarks.studies.number_formats import BFLOAT16, FLOAT16, FLOAT32, NumberFormat, formats_for, scorer_in
from benchmarks.studies.precision_figures import compare_order, compare_scores, permutation_keys
from benchmarks.studies.precision_prompts import Prompts, Sizes
from benchmarks.studies.precision_table import precision_section
from benchmarks.workloads.texts import Corpus, make_problem, read_examples
from lens_cli.select.options import read_task
from lens_engine.config import Contribution
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.methods.lens.infoscore import contributions, info_scores
from lens_engine.rows.problem import Problem
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

_SYNTHETIC: tuple[Corpus, ...] = ("reviews", "news")
_SYNTHETIC_ROWS = 1000
_OTHER_EXECUTORS = ("cached", "plain")
_PART = Sizes(candidates=12, score_examples=12, permutations=3, rows=12)
"""A part of the prompts, for the comparison of executors: `plain` feeds every prompt whole."""


@dataclass(frozen=True)
class Scored:
    """The scores of the prompts in one format."""

    zero_shot: LabelLogProbs  #: `[score_examples, labels]`
    one_shot: LabelLogProbs  #: `[candidates, score_examples, labels]`
    permuted: LabelLogProbs  #: `[permutations, rows, labels]`
    span_tokens: tuple[int, ...]
    pairs: int
    cpu_seconds: float
    seconds: float

    def info_scores(self, kind: Contribution, gold: IndexArray) -> FloatArray:
        return info_scores(contributions(kind, self.one_shot, self.zero_shot, gold, self.span_tokens))


def score(prompts: Prompts, scorer: LabelScorer) -> Scored:
    """Score all prompts. The clocks measure everything that `scorer.score` does."""
    task = prompts.task
    score_queries = [task.render_query(example.text) for example in prompts.score_set]
    row_queries = [task.render_query(example.text) for example in prompts.rows]
    one_shot = [task.render_prefix([candidate]) for candidate in prompts.candidates]
    scorer.score(one_shot[:1], score_queries[:1], task.label_spans)  # warm-up
    cpu, wall = time.process_time(), time.perf_counter()
    zero = scorer.score([()], score_queries, task.label_spans)[0]
    one = scorer.score(one_shot, score_queries, task.label_spans)
    permuted = scorer.score(prompts.prefixes, row_queries, task.label_spans)
    return Scored(
        zero_shot=zero,
        one_shot=one,
        permuted=permuted,
        span_tokens=tuple(scorer.count_tokens(task.label_spans)),
        pairs=len(zero) + one.shape[0] * one.shape[1] + permuted.shape[0] * permuted.shape[1],
        cpu_seconds=time.process_time() - cpu,
        seconds=time.perf_counter() - wall,
    )


def compare(prompts: Prompts, found: Scored, reference: Scored) -> dict[str, Any]:
    """Every figure of one format, as JSON holds it."""
    gold, row_gold = prompts.gold(prompts.score_set), prompts.gold(prompts.rows)
    kinds: tuple[Contribution, ...] = ("label", "vocabulary")
    accuracies = [(scored.permuted.argmax(axis=-1) == row_gold).mean(axis=-1) for scored in (found, reference)]
    return {
        "one_shot": asdict(compare_scores(found.one_shot, reference.one_shot)),
        "permuted": asdict(compare_scores(found.permuted, reference.permuted)),
        "info_scores": {
            kind: asdict(compare_order(found.info_scores(kind, gold), reference.info_scores(kind, gold)))
            for kind in kinds
        },
        "permutations": asdict(
            compare_order(permutation_keys(found.permuted, row_gold), permutation_keys(reference.permuted, row_gold))
        )
        | {"max_accuracy_delta": float(np.abs(accuracies[0] - accuracies[1]).max())},
        "pairs_per_cpu_second": found.pairs / found.cpu_seconds,
        "pairs_per_second": found.pairs / found.seconds,
    }


def study(model: str, device: torch.device, prompts: Prompts) -> Iterator[dict[str, Any]]:
    """A record for each format with the packed executor, then for each executor on part of the prompts."""
    reference = None
    for number_format in formats_for(device):
        found = _score_in(number_format, model, device, "packed", prompts)
        reference = reference or found
        yield _record(number_format, "packed", compare(prompts, found, reference))
    yield from _study_executors(model, device, prompts.part(_PART))


def _study_executors(model: str, device: torch.device, part: Prompts) -> Iterator[dict[str, Any]]:
    """Each executor against float32 packed; in bfloat16, the others against packed in bfloat16 too; and float16."""
    exact = _score_in(FLOAT32, model, device, "packed", part)
    for number_format in (FLOAT32, BFLOAT16):
        packed = _score_in(number_format, model, device, "packed", part)
        yield _record(number_format, "packed", compare(part, packed, exact)) | {"against": FLOAT32.name}
        for executor in _OTHER_EXECUTORS:
            found = _score_in(number_format, model, device, executor, part)
            yield _record(number_format, executor, compare(part, found, exact)) | {"against": FLOAT32.name}
            if number_format is not FLOAT32:
                yield _record(number_format, executor, compare(part, found, packed)) | {"against": number_format.name}
    found = _score_in(FLOAT16, model, device, "packed", part)
    yield _record(FLOAT16, "packed", compare(part, found, exact)) | {"against": FLOAT32.name}


def _record(number_format: NumberFormat, executor: str, figures: dict[str, Any]) -> dict[str, Any]:
    return {"format": number_format.name, "executor": executor} | figures


def _score_in(number_format: NumberFormat, model: str, device: torch.device, executor: str, prompts: Prompts) -> Scored:
    gc.collect()  # frees the previous model
    with scorer_in(number_format, model, device, executor) as scorer:
        return score(prompts, scorer)


def read_options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.studies.precision", description=__doc__)
    parser.add_argument("--model", default=BUNDLED_MODEL, help="model reference, as for `lens select`")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=1, help="number of torch threads (default: 1)")
    parser.add_argument("--demonstrations", type=int, default=8, help="demonstrations in a permutation")
    for name, default in asdict(Sizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--data", type=Path, help="JSON Lines with text and label, instead of synthetic texts")
    parser.add_argument("--template", help="template for --data, such as '{text} It was {label}.'")
    parser.add_argument("--verbalizer", action="append", default=[], help="label=word for --data; once for each label")
    parser.add_argument("--separator", default="\n", help="text between demonstrations of --data")
    options = parser.parse_args(words)
    if options.data is not None and not (options.template and options.verbalizer):
        parser.error("--data needs --template and --verbalizer")
    return options


def read_problems(options: argparse.Namespace) -> dict[str, Problem]:
    if options.data is None:
        return {corpus: make_problem(corpus, _SYNTHETIC_ROWS) for corpus in _SYNTHETIC}
    task = read_task(options.template, options.verbalizer, options.separator)
    return {options.data.stem: Problem(task, read_examples(options.data, task))}


def study_name(device: torch.device, *, has_rows: bool) -> str:
    """The name of the study, by device and kind of texts, so that no study overwrites another."""
    return f"precision-{device.type}{'' if has_rows else '-synthetic'}"


def main() -> None:
    options = read_options()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    machine = describe_machine(device)
    sizes = Sizes(options.candidates, options.score_examples, options.permutations, options.rows)
    datasets: dict[str, list[dict[str, Any]]] = {}
    for name, problem in read_problems(options).items():
        prompts = Prompts.draw(problem.task, problem.examples, sizes, options.demonstrations)
        datasets[name] = []
        for record in study(options.model, device, prompts):
            datasets[name].append(record)
            sys.stderr.write(f"{name}: {record['format']}, {record['executor']}\n")
    measured = {"model": options.model, "device": options.device, "sizes": asdict(sizes), "datasets": datasets}
    write_study(study_name(device, has_rows=options.data is not None), machine, measured, precision_section(datasets))


if __name__ == "__main__":
    main()
