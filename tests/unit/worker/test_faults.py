"""Whose fault an error is."""

import errno

import pytest
from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from lens_engine.errors import (
    ClusterError,
    EndpointAway,
    EndpointError,
    InvalidConfig,
    InvalidDataset,
    ModelError,
    NonFiniteScore,
    UnknownModel,
    UnsafeModel,
)
from worker.faults import WorkerFault, blaming_worker, blaming_worker_for_everything


def caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("CUDA error: device-side assert triggered"), "device-failed"),
        (RuntimeError("CUDA driver error: unknown error"), "device-failed"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"), "device-failed"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"), "device-failed"),
        (OSError(errno.EIO, "Input/output error"), "device-failed"),
        (UnknownModel("gone"), "unknown-model"),
        (UnsafeModel("pickles"), "unsafe-model"),
        (ClusterError("4 actors in a row were lost"), "cluster-error"),
        (InvalidConfig("torch sees no CUDA device here", field="device"), "device-failed"),
        (caused_by(ModelError("cannot be loaded"), OSError(errno.ENOSPC, "full")), "model-error"),
    ],
)
def test_fault_of_the_machine_is_the_worker_s(error: Exception, code: str) -> None:
    with pytest.raises(WorkerFault) as caught, blaming_worker():
        raise error

    assert caught.value.code == code
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        InvalidDataset("no rows", field="dataset"),
        InvalidConfig("max_pairs is 1", field="options.budget.max_pairs"),
        NonFiniteScore("NaN"),
        EndpointError("check: values"),
        caused_by(EndpointAway("no answer"), ConnectionRefusedError()),
        ModelError("training diverged"),
        RuntimeError("a fault of ours"),
        JobTimeoutException("too long"),
        ShutDownImminentException("shut down imminent", {}),  # type: ignore[no-untyped-call]
    ],
)
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, blaming_worker():
        raise error

    assert caught.value is error


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory"), ImportError("no torch")])
def test_every_error_of_loading_is_the_worker_s(error: Exception) -> None:
    with pytest.raises(WorkerFault) as caught, blaming_worker_for_everything():
        raise error

    assert caught.value.code == "model-not-loaded"


@pytest.mark.parametrize("kind", [EndpointAway, EndpointError])
def test_fault_of_a_server_is_not_the_worker_s(kind: type[Exception]) -> None:
    with pytest.raises(kind), blaming_worker_for_everything():
        raise kind("no answer")


@pytest.mark.parametrize("kind", [JobTimeoutException, ShutDownImminentException])
def test_stop_during_loading_is_nobody_s_fault(kind: type[Exception]) -> None:
    error = kind("now", {}) if kind is ShutDownImminentException else kind("now")

    with pytest.raises(kind), blaming_worker_for_everything():
        raise error
