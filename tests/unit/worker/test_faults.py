import errno

import pytest
from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from app.lifecycle.claims import Claim
from app.settings import Settings
from lens_engine import errors
from worker.faults import WorkerFault, blaming_worker, describe_failure, describe_timeout


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
        (errors.UnknownModel("gone"), "unknown-model"),
        (errors.UnsafeModel("pickles"), "unsafe-model"),
        (errors.ClusterError("4 actors in a row were lost"), "cluster-error"),
        (errors.InvalidConfig("torch sees no CUDA device here", field="device"), "device-failed"),
        (caused_by(errors.ModelError("cannot be loaded"), OSError(errno.ENOSPC, "full")), "model-error"),
    ],
)
def test_fault_of_the_machine_is_the_worker_s(error: Exception, code: str) -> None:
    with pytest.raises(WorkerFault) as caught, blaming_worker():
        raise error

    assert caught.value.code == code
    assert caught.value.__cause__ is error


ENDINGS = (
    errors.EndpointError("check: values"),
    caused_by(errors.EndpointAway("no answer"), ConnectionRefusedError()),
    JobTimeoutException("too long"),
    ShutDownImminentException("shut down imminent", {}),  # type: ignore[no-untyped-call]
)
OTHERS = (
    errors.InvalidDataset("no rows", field="dataset"),
    errors.InvalidConfig("max_pairs is 1", field="options.budget.max_pairs"),
    errors.NonFiniteScore("NaN"),
    errors.ModelError("training diverged"),
    RuntimeError("a fault of ours"),
)


@pytest.mark.parametrize(
    ("error", "is_loading"), [*((one, False) for one in (*ENDINGS, *OTHERS)), *((one, True) for one in ENDINGS)]
)
def test_other_errors_pass(error: Exception, is_loading: bool) -> None:
    with pytest.raises(type(error)) as caught, blaming_worker(is_loading=is_loading):
        raise error

    assert caught.value is error


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory"), ImportError("no torch")])
def test_every_error_of_loading_is_the_worker_s(error: Exception) -> None:
    with pytest.raises(WorkerFault) as caught, blaming_worker(is_loading=True):
        raise error

    assert caught.value.code == "model-not-loaded"


INSTANCE = "/selections/sel_1"


@pytest.mark.parametrize(
    ("error", "code", "pointer"),
    [
        (errors.ClassTooSmall("too few", field="dataset.label", row=7), "class-too-small", "/dataset/rows/7/label"),
        (errors.InvalidVerbalizer("same word", field="verbalizer.a.b"), "invalid-verbalizer", "/spec/verbalizer/a.b"),
        (errors.PromptTooLong("long", field="template", row=7), "prompt-too-long", "/spec/template"),
    ],
)
def test_invalid_input_has_the_pointer_of_a_refusal(error: errors.LensError, code: str, pointer: str) -> None:
    problem = describe_failure(error, INSTANCE)

    assert problem["type"] == f"/docs#{code}"
    assert problem["code"] == code
    assert problem["detail"] == str(error)
    assert problem["instance"] == INSTANCE
    assert problem["errors"] == [{"detail": str(error), "pointer": pointer}]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnknownModel("gone"), "unknown-model"),
        (errors.NonFiniteScore("NaN"), "non-finite"),
        (errors.OutOfMemory("too large"), "out-of-memory"),
        (MemoryError(), "out-of-memory"),
    ],
)
def test_failed_run_has_a_code_and_no_pointer(error: errors.LensError | MemoryError, code: str) -> None:
    problem = describe_failure(error, INSTANCE)

    assert problem["type"] == f"/docs#{code}"
    assert problem["detail"]
    assert problem["errors"] == []


def test_owner_is_not_told_what_a_server_said() -> None:
    sentence = "the server of the model 'ours' refuses /v1/completions with status 401"
    error = errors.EndpointError(sentence, said="at db.internal")

    assert "db.internal" in str(error)
    assert describe_failure(error, INSTANCE)["detail"] == sentence


def test_timeout_names_the_budget_option() -> None:
    problem = describe_timeout(Settings(_env_file=None), Claim("sel_1", 1))
    assert (problem["code"], problem["instance"]) == ("timeout", INSTANCE)
    assert "max_seconds" in problem["detail"]
