"""Every step, on the processor at tiny size: what runs on a card is the same code on another device."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmarks.gpu.kernels import attend_in_turn
from benchmarks.gpu.plan import STEPS, rehearse
from benchmarks.gpu.runner import Finding, Setting
from benchmarks.gpu.steps.exactness import largest_delta_in_float32
from benchmarks.gpu.steps.kernel import check_kernel
from benchmarks.gpu.steps.unit_tests import call_pytest
from benchmarks.report.records import ComparisonRecord, SearchRecord
from lens_engine.scoring.executors.varlen import Sequences

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Finding]]:
    setting = rehearse(Setting(), tmp_path_factory.mktemp("tokenizer"))
    steps = {step.name: step.run for step in STEPS}
    return lambda name: list(steps[name](setting))


def test_shares_of_the_steps_fill_eight_minutes() -> None:
    assert sum(step.seconds for step in STEPS) == 480


def test_machine_tells_versions_and_times_products(run: Callable[[str], list[Finding]]) -> None:
    findings = run("machine")

    assert findings[0]["versions"]["torch"] == torch.__version__
    assert [finding["dtype"] for finding in findings if "product" in finding] == ["torch.float32", "torch.bfloat16"]
    assert run("closing")[-1]["packages"]


def test_portable_kernel_keeps_the_contract(run: Callable[[str], list[Finding]]) -> None:
    checked = [finding for finding in run("kernel") if "faults" in finding]

    assert [finding["heads"] for finding in checked] == [(20, 20), (9, 3)]
    assert [finding["faults"] for finding in checked] == [[], []]


def test_kernel_with_wrong_numbers_shapes_or_errors_has_faults() -> None:
    def misscale(query: torch.Tensor, *rest: object) -> tuple[torch.Tensor, torch.Tensor]:
        return attend_in_turn(query * 1.1, *rest)  # type: ignore[arg-type]

    def turn(*call: object) -> tuple[torch.Tensor, torch.Tensor]:
        output, normalisers = attend_in_turn(*call)  # type: ignore[arg-type]
        return output, normalisers.T

    def refuse(*_call: object) -> tuple[torch.Tensor, torch.Tensor]:
        raise RuntimeError("no kernel image is available")

    for kernel, words in ((misscale, "output off by"), (turn, "log-sum-exp ("), (refuse, "no kernel image")):
        faults = check_kernel("a kernel", kernel, torch.float32, 16, (9, 3), CPU)["faults"]
        assert faults
        assert any(words in fault for fault in faults)


def test_executors_agree_with_plain_in_float32(run: Callable[[str], list[Finding]]) -> None:
    findings = run("exactness")

    assert {finding["auto"] for finding in findings if finding["dtype"] == "torch.float32"} == {"packed"}
    delta = largest_delta_in_float32(iter(findings))
    assert delta is not None
    assert delta <= 1e-4


def test_little_memory_halves_the_forwards_and_keeps_the_scores(run: Callable[[str], list[Finding]]) -> None:
    (finding,) = run("memory")

    assert finding["tokens a forward, after"] < finding["tokens a forward, before"]
    assert finding["largest difference of log p"] <= 1e-4


def test_profile_and_alternatives_measure_each_workload(run: Callable[[str], list[Finding]]) -> None:
    profiles, alternatives = run("profile"), run("alternatives")

    assert [finding["workload"] for finding in profiles] == ["W1-14", "W2", "W4"]
    assert all(finding["kernels"] and finding["host, cumulative ms"] for finding in profiles)
    variants = {row["variant"]: row for row in alternatives[0]["variants"]}
    assert variants["as it is"]["largest difference of log p, or error"] == 0
    assert variants["kernel in turn"]["largest difference of log p, or error"] <= 1e-4
    assert all(row["tokens/s"] > 0 for row in variants.values())


def test_comparison_and_search_give_the_records_of_their_programs(run: Callable[[str], list[Finding]]) -> None:
    comparison = ComparisonRecord.model_validate(run("comparison")[-1]["record"])
    search = SearchRecord.model_validate(run("search")[-1]["record"])

    assert [workload.key for workload in comparison.workloads] == ["W1-14"]
    assert len(search.run.permutation) == 8


def test_equal_seeds_give_equal_bits_on_a_processor(run: Callable[[str], list[Finding]]) -> None:
    same_process, fresh_processes, tuning, executors = run("repeatability")

    assert (same_process["same"], fresh_processes["same"], tuning["same"]) == (True, True, True)
    assert executors["same_permutation"]


def test_failing_tests_are_named(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")

    found = call_pytest(["-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)])

    assert found["exit status"] == 1
    assert "1 failed" in found["summary"]


@pytest.mark.gpu
def test_kernel_in_use_keeps_the_contract_on_a_card() -> None:
    from benchmarks.gpu.steps.kernel import check_kernels

    findings = [finding for finding in check_kernels(Setting()) if finding["kernel"] == "in use"]

    assert [finding["faults"] for finding in findings] == [[]] * len(findings)


def test_sequences_of_one_token_are_attended() -> None:
    query, key, value = (torch.ones(1, 2, 8) for _ in range(3))

    output, normalisers = attend_in_turn(query, key, value, Sequences.of([1], [1], CPU), 0.5, True)

    torch.testing.assert_close(output, value)
    torch.testing.assert_close(normalisers, torch.full((1, 2), 4.0))
