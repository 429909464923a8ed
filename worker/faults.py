"""What an error means: whether it is the worker's or the job's, and what the owner of the job is told (RFC 9457).

A job fails at once by an error that any worker would meet. An error of this machine, of its device or of its
files says nothing about the job: another worker may run it. An error of a server says nothing about the worker.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from app.errors import as_items, problem
from app.lifecycle.claims import Claim
from app.settings import Settings
from lens_engine.errors import (
    ClusterError,
    EndpointError,
    InvalidConfig,
    InvalidInput,
    LensError,
    ModelError,
    UnknownModel,
    UnreadableModel,
    UnsafeModel,
)

_OF_MACHINES = (UnknownModel, UnsafeModel, UnreadableModel, ClusterError)
_OF_GPU = re.compile(
    r"\bCUDA (driver )?error|CUDA-capable device|CUBLAS_STATUS|CUDNN_STATUS|cuDNN error|CUSOLVER_STATUS"
)
"""Messages of torch about a GPU that failed. Lack of memory ("CUDA out of memory") is not among them."""


class ModelMoved(Exception):
    """The model went behind a server, or came back, while the job waited: a worker of the other queue has it."""

    code = "model-moved"


class WorkerFault(Exception):
    """This worker cannot run the job, and another worker may. `code` is stable, and clients see it."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def blaming_worker(*, is_loading: bool = False) -> Iterator[None]:
    """Turn errors of this machine into a `WorkerFault`; others pass, also those that every worker meets at a server.

    `is_loading`: whether every error of the block is the worker's, as loading a model does not depend on the job.
    """
    try:
        yield
    except (ShutDownImminentException, JobTimeoutException, EndpointError):
        raise  # the first two come from outside of the block
    except Exception as error:
        if not is_loading and not any(map(_is_of_machine, _chain(error))):
            raise
        code = error.code if isinstance(error, ModelError) else "model-not-loaded" if is_loading else "device-failed"
        raise WorkerFault(f"{type(error).__name__}: {error}", code) from error


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


def _is_of_machine(error: BaseException) -> bool:
    if isinstance(error, (*_OF_MACHINES, OSError)):
        return True
    if isinstance(error, InvalidConfig):
        return error.field == "device"  # LENS_DEVICE; an option of the client begins with "options."
    if not isinstance(error, RuntimeError):
        return False
    # By name, because this module must not import torch: a fault is also judged where no model was loaded.
    is_of_accelerator = any(kind.__name__ == "AcceleratorError" for kind in type(error).__mro__)
    return is_of_accelerator or _OF_GPU.search(str(error)) is not None


def describe_failure(error: LensError | MemoryError, instance: str) -> dict[str, Any]:
    """Describe an error that another attempt would repeat."""
    if isinstance(error, MemoryError):
        detail = "the machine has not enough memory for this dataset and model"
        return problem("out-of-memory", detail, instance=instance)
    errors = as_items(error) if isinstance(error, InvalidInput) else []
    return problem(error.code, tell_owner(error), instance=instance, errors=errors)


def tell_owner(error: Exception) -> str:
    """The message of an error, without what a server said: that may name hosts, or repeat a part of a key."""
    return error.sentence if isinstance(error, EndpointError) else str(error)


def describe_timeout(settings: Settings, claim: Claim) -> dict[str, Any]:
    """Describe a run that did not end before its time limit."""
    mend = (
        "set a smaller budget max_seconds, or fewer rows (rows.judging, rows.test), to end earlier with the best so far"
    )
    detail = f"the run did not end within the service's time limit of {settings.job_timeout_seconds} s; {mend}"
    return problem("timeout", detail, instance=claim.path)
