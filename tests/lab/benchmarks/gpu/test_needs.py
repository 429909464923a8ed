"""A machine that lacks packages is told which to bring along."""

import pytest

from benchmarks.gpu.needs import Need, find_version, list_missing

TORCH = Need("torch", "torch", (2, 10))
HARNESS = Need("lm-eval", "lm_eval", purpose="the comparison")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.11.0+cu130", []),
        ("2.10.1", []),
        ("unknown", []),
        ("2.9.1", ["torch 2.10 or newer; this is 2.9.1"]),
        (None, ["torch 2.10 or newer"]),
    ],
)
def test_package_that_is_missing_or_old_is_required(version: str | None, expected: list[str]) -> None:
    assert list_missing((3, 12, 3), (TORCH,), lambda _: version) == (expected, [])


def test_package_of_one_measurement_is_not_required() -> None:
    required, for_a_part = list_missing((3, 12, 3), (HARNESS,), lambda _: None)

    assert required == []
    assert for_a_part == ["lm-eval; without it the comparison is left out"]


def test_old_python_is_told() -> None:
    assert list_missing((3, 10, 1), ()) == (["Python 3.11 or newer; this is 3.10.1"], [])


def test_versions_of_this_environment_are_found() -> None:
    assert find_version(Need("numpy", "numpy")) is not None
    assert find_version(Need("no-such-package", "no_such_package")) is None
