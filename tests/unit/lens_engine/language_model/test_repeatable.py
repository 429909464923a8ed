"""Training under deterministic algorithms, and everything as before afterwards."""

import os
from collections.abc import Iterator

import pytest
import torch
from torch.utils import deterministic

from lens_engine.language_model.repeatable import fix_cublas_workspace, repeatable_training

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


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
def test_settings_hold_inside_and_are_restored(device: torch.device, before: dict[str, bool]) -> None:
    with repeatable_training(device):
        inside = settings()

    on = {"deterministic": True, "only warns": True, "fills": False}
    plain_attention = {"flash": False, "memory-efficient": False, "cudnn": False, "math": True}
    assert inside == before | on | (plain_attention if device == CUDA else {})
    assert settings() == before


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_settings_are_restored_after_an_error(device: torch.device, before: dict[str, bool]) -> None:
    with pytest.raises(ZeroDivisionError), repeatable_training(device):
        raise ZeroDivisionError
    assert settings() == before


def test_workspace_of_cublas_is_fixed_for_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, "placeholder")  # so that the test's own value is removed afterwards
    monkeypatch.delenv(WORKSPACE)

    fix_cublas_workspace(CPU)
    assert WORKSPACE not in os.environ
    fix_cublas_workspace(CUDA)
    assert os.environ[WORKSPACE] == ":4096:8"


def test_workspace_that_somebody_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, ":16:8")
    fix_cublas_workspace(CUDA)
    assert os.environ[WORKSPACE] == ":16:8"
