"""Verdicts and tables, from figures made up for the purpose."""

from typing import Any

import pytest

from benchmarks.measuring.profiling import group_by_kind, kind_of
from benchmarks.report.records import (
    ComparisonRecord,
    EngineRun,
    Machine,
    ProfileRow,
    SearchRecord,
    SearchRun,
    SelectionAgreement,
    WorkloadRun,
)
from benchmarks.report.tables import show_comparison, show_search
from benchmarks.report.targets import Verdict, judge_comparison, judge_search

MACHINE = Machine(processor="abacus", accelerator=None, threads=2, load=0.1, packages={"torch": "2"})


def engine_run(engine: str, pairs_per_second: float, **changes: Any) -> EngineRun:
    """100 pairs of 30 unique tokens each, fed once."""
    seconds = 100 / pairs_per_second
    usual: dict[str, Any] = {
        "engine": engine,
        "dtype": "bfloat16",
        "note": "as it comes",
        "prefixes": 10,
        "queries": 10,
        "wall": (seconds, seconds / 2, seconds * 9),
        "cpu": (2 * seconds,),
        "fed_tokens": 3000,
        "ideal_tokens": 3000,
        "label_positions": 100,
        "peak_bytes": 2**20,
        "delta": 0.1,
        "delta_float32": 1e-5,
    }
    return EngineRun(**(usual | changes))


def workload_run(key: str, *engines: EngineRun, **changes: Any) -> WorkloadRun:
    usual: dict[str, Any] = {
        "key": key,
        "title": "some work",
        "model": "a model",
        "prefixes": 64,
        "queries": 100,
        "labels": 2,
        "executor": "packed",
        "matrix_weights": 1000,
        "head_weights": 500,
        "engines": engines,
        "share_cut": 0.0,
    }
    return WorkloadRun(**(usual | changes))


def comparison(*workloads: WorkloadRun, **changes: Any) -> ComparisonRecord:
    usual: dict[str, Any] = {
        "machine": MACHINE,
        "model": "a model",
        "device": "cpu",
        "dtype": "bfloat16",
        "seconds_per_repetition": 1.0,
        "matmul_flops": {"bfloat16": 1e9, "float32": 1e8},
        "workloads": workloads,
        "agreement": SelectionAgreement(
            executors=("packed", "plain"), candidates=48, same_survivors=True, same_permutation=True
        ),
        "profiles": {"W2": (ProfileRow(kind="matrix products", share=0.7), ProfileRow(kind="the rest", share=0.3))},
    }
    return ComparisonRecord(**(usual | changes))


@pytest.fixture
def record() -> ComparisonRecord:
    rivals = [
        engine_run("cached", 50, fed_tokens=4500),
        engine_run("harness", 10),
        engine_run("authors", 4),
        engine_run("authors", 2, dtype="float32"),
        engine_run("floor", 125, delta=None, delta_float32=None),
    ]
    first = workload_run("W1-14", engine_run("packed", 100), *rivals)
    second = workload_run("W2", engine_run("packed", 70, delta_float32=2e-4), *rivals, share_cut=0.34)
    return comparison(first, second)


def verdicts_of(record: ComparisonRecord) -> dict[str, Verdict]:
    return {verdict.title: verdict for verdict in judge_comparison(record)}


def test_run_is_told_by_its_median() -> None:
    run = engine_run("packed", 100, fed_tokens=4500)
    assert (run.pairs, run.seconds, run.pairs_per_second, run.tokens_per_second) == (100, 1.0, 100.0, 3000.0)
    assert (run.pairs_per_cpu_second, run.fed_ratio) == (50.0, 1.5)


def test_floating_point_operations_are_those_of_layers_and_head() -> None:
    run = engine_run("packed", 100)
    workload = workload_run("W1-14", run, engine_run("floor", 200))
    assert workload.flops(run) == 2 * (1000 * 3000 + 500 * 100)
    assert workload.flops_per_second(run) == workload.flops(run)
    assert workload.floor_share(run) == 0.5
    assert workload_run("W5", run).floor_share(run) is None


@pytest.mark.parametrize(
    ("title", "measured", "outcome"),
    [
        ("fed / ideal tokens, packed", 1.0, "met"),
        ("fed / ideal tokens, cached", 1.5, "met"),
        ("stage 1 (W1) over HFLM, same dtype", 10.0, "met"),
        ("stage 2 (W2) over HFLM, same dtype", 7.0, "missed by 12%"),
        ("W1 over the authors' scheme, same dtype", 25.0, "met"),
        ("W2 over the authors' scheme, same dtype", 17.5, "missed by 3%"),
        ("bfloat16 over the authors' scheme in float32", 35.0, "missed by 42%"),
        ("share of the attention-free floor", 0.56, "missed by 7%"),
        ("max abs Δ log p in float32, packed and cached", 2e-4, "missed by 100%"),
        ("same survivors and final permutation in float32 (1 for yes)", 1.0, "met"),
    ],
)
def test_worst_workload_is_held_against_the_target(
    record: ComparisonRecord, title: str, measured: float, outcome: str
) -> None:
    verdict = verdicts_of(record)[title]
    assert verdict.measured == pytest.approx(measured)
    assert verdict.outcome == outcome


def test_targets_of_a_gpu_are_others(record: ComparisonRecord) -> None:
    on_gpu = verdicts_of(record.model_copy(update={"device": "cuda"}))
    assert on_gpu["fed / ideal tokens, cached"].outcome == "missed by 15%"
    peak = on_gpu["share of the measured matmul peak"]
    assert peak.measured == pytest.approx(0.7 * 2 * (1000 * 3000 + 500 * 100) / 1e9)
    assert "share of the attention-free floor" not in on_gpu


def test_what_was_not_measured_is_said() -> None:
    bare = comparison(workload_run("W2", engine_run("packed", 70, delta_float32=None)), agreement=None)
    found = verdicts_of(bare)
    assert found["stage 2 (W2) over HFLM, same dtype"].outcome == "not measured"
    assert found["max abs Δ log p in float32, packed and cached"].is_met is None


def test_another_permutation_misses_the_target(record: ComparisonRecord) -> None:
    assert record.agreement is not None
    other = record.agreement.model_copy(update={"same_permutation": False})
    verdicts = verdicts_of(record.model_copy(update={"agreement": other}))
    assert verdicts["same survivors and final permutation in float32 (1 for yes)"].is_met is False


def test_tables_show_engines_targets_and_profile(record: ComparisonRecord) -> None:
    text = show_comparison(record)
    assert "abacus, 2 threads; torch 2; load 0.1 when it began." in text
    assert "| stage 2 (W2) over HFLM, same dtype | ≥ 8 | 7 | missed by 12% |" in text
    assert "| Lens, packed, bfloat16 (as it comes) | 70.0 | 35.0 | 2,100 | 1.00 | 56% | 0% | 1 MiB |" in text
    assert "cuts 34% of these prompts" in text
    assert "| matrix products | 70% |" in text


def search_run(wall: float) -> SearchRun:
    return SearchRun(
        wall=wall,
        cpu=2 * wall,
        filter_seconds=40.0,
        pairs=1000,
        tokens=100_000,
        survivors_digest="0",
        permutation=(3, 1, 2),
    )


def test_search_is_held_against_its_targets() -> None:
    record = SearchRecord(
        machine=MACHINE,
        model="a model",
        device="cpu",
        dtype="bfloat16",
        candidates=512,
        config={"search": {"iterations": 10}},
        run=search_run(200.0),
    )
    (whole,) = judge_search(record)
    assert "10 iterations" in whole.title
    assert (whole.measured, whole.outcome) == (200.0, "missed by 11%")
    assert "| 200.0 | 40.0 | 400.0 | 1,000 | 500 | 3 1 2 |" in show_search(record)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("mkldnn::_linear_pointwise", "matrix products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention kernels"),
        ("fmha_cutlassF_bf16", "attention kernels"),
        ("aten::index_select", "gathering and copying"),
        ("aten::silu", "activations, norms, positions and the rest"),
    ],
)
def test_operators_are_told_by_their_names(operator: str, kind: str) -> None:
    assert kind_of(operator) == kind


def test_shares_of_a_profile_add_up() -> None:
    rows = group_by_kind({"aten::mm": 60.0, "aten::addmm": 20.0, "aten::silu": 20.0})
    assert [(row.kind, row.share) for row in rows] == [
        ("matrix products", 0.8),
        ("activations, norms, positions and the rest", 0.2),
    ]
