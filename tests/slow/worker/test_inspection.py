"""What a worker checks before it takes work, with described GPUs: there need not be one."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE

from app.settings import Settings
from worker.inspection import Device, GpuAbsent, ReadGpu, UnfitWorker, check_room, find_device, inspect, weigh_models

GIB = 1 << 30
H200 = Device(
    torch_name="cuda:0",
    name="NVIDIA H200",
    capability=(9, 0),
    total_bytes=140 * GIB,
    free_bytes=139 * GIB,
    number_format="bfloat16",
)


def make(**values: object) -> Settings:
    return Settings.model_validate(values)


def machine_with(*gpus: Device) -> ReadGpu:
    def read(index: int, dtype: str) -> Device:
        if index >= len(gpus):
            raise GpuAbsent("torch sees no CUDA GPU here")
        return gpus[index] if dtype == "auto" else replace(gpus[index], number_format=dtype)

    return read


def test_worker_that_asks_servers_needs_its_keys_and_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m", "key_variable": "KEY_OF_M"}
    settings = make(endpoints={"x": endpoint}, worker_models="endpoints")
    monkeypatch.delenv("KEY_OF_M", raising=False)
    with pytest.raises(UnfitWorker, match=r"model 'x' of LENS_ENDPOINTS .* KEY_OF_M"):
        inspect(settings, machine_with())
    monkeypatch.setenv("KEY_OF_M", "k")
    assert inspect(settings, machine_with()).torch_name == "endpoint"
    with pytest.raises(UnfitWorker, match="LENS_ENDPOINTS names no model"):
        inspect(make(worker_models="endpoints"), machine_with())


def test_tokenizer_of_an_endpoint_is_looked_for(tmp_path: Path) -> None:
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m", "tokenizer": str(tmp_path)}
    settings = make(endpoints={"x": endpoint}, worker_models="endpoints")
    with pytest.raises(UnfitWorker, match=r"model 'x' of LENS_ENDPOINTS: there is no .*/tokenizer.json"):
        inspect(settings, machine_with())
    Tokenizer(BPE()).save(str(tmp_path / "tokenizer.json"))
    assert inspect(settings, machine_with()).torch_name == "endpoint"


@pytest.mark.parametrize(
    ("asked", "found"), [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:0", "cuda:0"), ("cuda:1", "cuda:1")]
)
def test_gpu_that_is_asked_for_is_found(asked: str, found: str) -> None:
    gpus = machine_with(H200, replace(H200, torch_name="cuda:1"))

    assert find_device(make(device=asked), gpus).torch_name == found


@pytest.mark.parametrize("asked", ["cuda", "cuda:1"])
def test_gpu_that_is_not_there_is_refused(asked: str) -> None:
    with pytest.raises(UnfitWorker, match=f"LENS_DEVICE is {asked}, and torch sees no CUDA GPU here; give the worker"):
        find_device(make(device=asked), machine_with())


def test_auto_without_a_gpu_is_the_processor_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    device = find_device(make(), machine_with())

    assert (device.torch_name, device.total_bytes, device.number_format) == ("cpu", None, None)
    assert device.name
    assert "LENS_DEVICE is auto, and torch sees no CUDA GPU here: this worker computes on the processor" in caplog.text


@pytest.mark.parametrize("asked", ["auto", "cuda:0"])
def test_gpu_that_does_not_compute_is_refused_even_by_auto(asked: str) -> None:
    def read(_index: int, _dtype: str) -> Device:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nCompile with ...")

    with pytest.raises(UnfitWorker, match=r"GPU 0 does not compute: CUDA error: no kernel image .* on the device$"):
        find_device(make(device=asked), read)


@pytest.mark.parametrize(
    ("capability", "dtype", "is_warned"),
    [((7, 5), "bfloat16", True), ((7, 5), "auto", True), ((7, 5), "float16", False), ((8, 0), "auto", False)],
)
def test_gpu_without_bfloat16_is_named_in_the_log(
    capability: tuple[int, int], dtype: str, is_warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    find_device(make(dtype=dtype), machine_with(replace(H200, capability=capability)))

    assert ("has no units for bfloat16" in caplog.text) == is_warned


def test_model_larger_than_the_gpu_is_refused() -> None:
    check_room(H200, {"small": 0, "ours": 139 * GIB})
    with pytest.raises(UnfitWorker, match=r"weights of model 'ours' take at least 141\.0 GiB, and NVIDIA H200 has 140"):
        check_room(H200, {"small": 1, "ours": 141 * GIB})


def test_model_larger_than_the_free_memory_is_refused() -> None:
    held = replace(H200, free_bytes=10 * GIB)

    check_room(held, {"ours": 10 * GIB})
    with pytest.raises(UnfitWorker, match=r"and 10\.0 GiB of NVIDIA H200 are free; end the other process"):
        check_room(held, {"ours": 11 * GIB})


def test_models_of_tests_are_not_looked_for() -> None:
    models = {"double": "testing:lens_engine.testing:TableScorer"}

    assert weigh_models(make(allowed_models=models, default_model="double", allow_testing_models=True)) == {}


LOOKS = """
import os, signal, time, sys
from worker.inspection import UnfitWorker
from worker.inspection import in_child

def refuse(): raise UnfitWorker("a reason")
def die(): os.kill(os.getpid(), signal.SIGSEGV)
def hang(): time.sleep(600)
def look(): import torch; return torch.__name__

for act, seconds in ((look, None), (refuse, None), (die, None), (hang, 0.2)):
    try:
        print(in_child(act, "the look", seconds=seconds))
    except UnfitWorker as refusal:
        print(refusal)
print("torch" in sys.modules)
"""


def test_look_in_a_child_gives_a_value_or_one_sentence_and_leaves_the_parent_without_torch() -> None:
    # In a process of its own: Python 3.12 warns of a fork in a process with threads, as pytest's is.
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout.splitlines() == [
        "torch",
        "a reason",
        "the look died with exit code -11; the log says more",
        "the look did not end within 0 s; restart the machine or its driver",
        "False",
    ]
