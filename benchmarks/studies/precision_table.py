"""The study of precision as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.report.page import markdown_table

_HEADER = [
    "format",
    "pairs",
    "mean and max Δ log p",
    "mean and max Δ margin",
    "argmax flips",
    "exact ties",
    "order (Spearman)",
    "best eighth kept",
    "pairs per CPU second",
]


def precision_section(datasets: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Tables for each dataset: one-shot prompts, permutations, executors."""
    parts = []
    for name, records in datasets.items():
        whole = [record for record in records if not record.get("against")]
        part = [record for record in records if record.get("against")]
        parts += [
            f"**{name}, one-shot prompts** (the order is that of the InfoScores):",
            markdown_table(_HEADER, [_row(record["format"], record, "one_shot") for record in whole]),
            f"**{name}, permutations** (the order is that of the search):",
            markdown_table(_HEADER, [_row(record["format"], record, "permuted") for record in whole]),
            f"**{name}, executors**, one-shot prompts, against packed in the format named:",
            markdown_table(_HEADER, [_row(_with_executor(record), record, "one_shot") for record in part]),
        ]
    return "\n\n".join(part.strip() for part in parts)


def _row(name: str, record: Mapping[str, Any], kind: str) -> list[str]:
    scores = record[kind]
    order = record["info_scores"]["label"] if kind == "one_shot" else record["permutations"]
    return [
        name,
        str(scores["pairs"]),
        f"{scores['mean_delta']:.2g}, {scores['max_delta']:.2g}",
        f"{scores['mean_margin_delta']:.2g}, {scores['max_margin_delta']:.2g}",
        f"{scores['argmax_flips']:.2%}",
        f"{scores['ties']:.2%}",
        f"{order['spearman']:.4f}",
        f"{order['best_eighth_kept']:.0%}",
        f"{record['pairs_per_cpu_second']:.1f}",
    ]


def _with_executor(record: Mapping[str, Any]) -> str:
    return f"{record['format']}, {record['executor']}, against {record['against']}"
