import pytest

from worker.inspection import GpuAbsent, read_gpu


def test_machine_without_a_gpu_says_why() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(GpuAbsent, match=r"^(this torch is a build without CUDA|torch sees no CUDA GPU here)"):
        read_gpu(0, "auto")


@pytest.mark.gpu
def test_gpu_is_read_whole() -> None:
    import torch

    device = read_gpu(0, "auto")

    assert device.torch_name == "cuda:0"
    assert device.name == torch.cuda.get_device_name(0)
    assert device.capability == torch.cuda.get_device_capability(0)
    assert device.free_bytes is not None
    assert device.total_bytes is not None
    assert 0 < device.free_bytes <= device.total_bytes
    assert device.number_format in {"float32", "bfloat16"}


@pytest.mark.gpu
def test_gpu_beyond_the_last_is_absent() -> None:
    import torch

    with pytest.raises(GpuAbsent, match="torch sees GPUs up to cuda:"):
        read_gpu(torch.cuda.device_count(), "auto")
