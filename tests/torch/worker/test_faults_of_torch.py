import pytest

from lens_engine.errors import OutOfMemory
from tests.unit.worker.test_faults import caused_by
from worker.faults import WorkerFault, blaming_worker


def test_error_of_torch_on_a_device_is_the_worker_s() -> None:
    import torch

    with pytest.raises(WorkerFault) as caught, blaming_worker():
        raise torch.AcceleratorError("CUDA error: unspecified launch failure")

    assert caught.value.code == "device-failed"


def test_lack_of_memory_of_torch_on_a_device_of_its_own_passes() -> None:
    import torch

    error = caused_by(OutOfMemory("too little memory"), torch.OutOfMemoryError("CUDA out of memory"))

    with pytest.raises(OutOfMemory), blaming_worker():
        raise error
