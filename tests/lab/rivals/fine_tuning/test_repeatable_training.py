"""Training under deterministic algorithms, and everything as before afterwards."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch
from torch.utils import deterministic

from lab.rivals.fine_tuning.repeatable import repeatable_training

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")


def settings() -> dict[str, bool]:
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "only warns": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fills": deterministic.fill_uninitialized_memory,
        "flash": torch.backends.cuda.flash_sdp_enabled(),
        "memory-efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
        "cudnn": torch.backends.cuda.cudnn_sdp_enabled(),
        "math": torch.backends.cuda.math_sdp_enabled(),
    }


@pytest.fixture(params=[(False, False), (True, False), (True, True)])
def before(request: pytest.FixtureRequest) -> Iterator[dict[str, bool]]:
    """Settings of the caller, whatever they are."""
    is_on, warns = request.param
    torch.use_deterministic_algorithms(is_on, warn_only=warns)
    yield settings()
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_settings_hold_inside_and_are_restored_after_an_error(device: torch.device, before: dict[str, bool]) -> None:
    with suppress(ZeroDivisionError), repeatable_training(device):
        inside = settings()
        raise ZeroDivisionError

    on = {"deterministic": True, "only warns": True, "fills": False}
    plain_attention = {"flash": False, "memory-efficient": False, "cudnn": False, "math": True}
    assert inside == before | on | (plain_attention if device == CUDA else {})
    assert settings() == before
