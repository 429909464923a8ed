"""The look at a real GPU, where there is one, and what can be read without it."""

from pathlib import Path

import pytest

from worker.device import read_driver_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version:",
            "535.183.01",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124  Release Build\n", "570.124"),
        ("nothing of the kind", None),
    ],
)
def test_version_of_the_driver_is_read(text: str, version: str | None, tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text(text)

    assert read_driver_version(file) == version


def test_machine_without_a_driver_has_no_version(tmp_path: Path) -> None:
    assert read_driver_version(tmp_path / "version") is None
