"""`python -m tests.e2e.worker_on_a_gpu`: a real worker on a GPU that is described and not there."""

from app.settings import Settings
from worker.__main__ import main
from worker.inspection import Device


def describe_gpu(_settings: Settings) -> Device:
    return Device(
        torch_name="cuda:0",
        name="NVIDIA H200",
        capability=(9, 0),
        total_bytes=150_109_880_320,
        free_bytes=149_000_000_000,
        number_format="bfloat16",
    )


if __name__ == "__main__":
    raise SystemExit(main(look=describe_gpu))
