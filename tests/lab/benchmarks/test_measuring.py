"""The clock of one run, and what happens to the memory between runs."""

import time

import pytest
import torch

from lab.benchmarks.measuring import measure


def test_run_is_timed_and_its_result_returned() -> None:
    result, measurement = measure(lambda: time.sleep(0.02) or 7, torch.device("cpu"))

    assert result == 7
    assert measurement.wall >= 0.02


@pytest.mark.gpu
def test_repetition_on_a_gpu_does_not_ask_the_driver_for_memory_again() -> None:
    device = torch.device("cuda")

    def run() -> float:
        return float(torch.ones(4096, 4096, device=device).sum())

    _, first = measure(run, device)
    before = torch.cuda.memory_stats(device)["num_device_alloc"]
    _, second = measure(run, device)

    assert torch.cuda.memory_stats(device)["num_device_alloc"] == before
    assert second.peak_bytes is not None
    assert second.peak_bytes >= 4 * 4096 * 4096
    assert second.peak_bytes == first.peak_bytes
