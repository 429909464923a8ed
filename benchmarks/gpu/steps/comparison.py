"""Steps comparison and search: the programs behind docs/performance.md, as short as they may be."""

from collections.abc import Iterator

from benchmarks.gpu.runner import Finding, Setting
from benchmarks.run import compare, parse_options
from benchmarks.studies import search

_PAPER_CANDIDATES, _REHEARSED_CANDIDATES = 6920, 40


def compare_engines(setting: Setting) -> Iterator[Finding]:
    """Engines side by side on W1-14 and W2; a `ComparisonRecord` after each workload, the last one the fullest."""
    seconds, repetitions = ("0.01", "1") if setting.is_rehearsal else ("1", "3")
    workloads = ["W1-14"] if setting.is_rehearsal else ["W1-14", "W2"]
    words = ["--quick", "--workloads", *workloads, "--seconds", seconds, "--repetitions", repetitions]
    for record in compare(parse_options([*words, *_model_options(setting)])):
        yield {"record": record.model_dump(mode="json")}


def search_once(setting: Setting) -> Iterator[Finding]:
    """One whole search at the paper's settings: a `SearchRecord`."""
    candidates, iterations = (_REHEARSED_CANDIDATES, 1) if setting.is_rehearsal else (_PAPER_CANDIDATES, 10)
    words = ["--candidates", str(candidates), "--iterations", str(iterations)]
    record = search.time_search(search.parse_options([*words, *_model_options(setting)]))
    yield {"record": record.model_dump(mode="json")}


def _model_options(setting: Setting) -> list[str]:
    words = ["--model", setting.model, "--device", setting.device]
    return words if setting.tokenizer is None else [*words, "--tokenizer", str(setting.tokenizer)]
