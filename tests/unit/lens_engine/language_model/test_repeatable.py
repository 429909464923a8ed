"""The workspace of cuBLAS, which decides whether equal products give equal bits."""

import os

import pytest
import torch

from lens_engine.language_model.repeatable import fix_cublas_workspace

pytestmark = pytest.mark.torch

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def test_workspace_of_cublas_is_fixed_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
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
