import pytest

from app.settings import Settings
from lens_engine.errors import (
    ClassTooSmall,
    InvalidVerbalizer,
    LensError,
    NonFiniteScore,
    NothingSelected,
    OutOfMemory,
    UnknownModel,
)
from worker.failures import describe_failure, describe_timeout

SETTINGS = Settings(_env_file=None, public_url="https://lens.test")
INSTANCE = "/selections/sel_1"


@pytest.mark.parametrize(
    ("error", "code", "pointer"),
    [
        (ClassTooSmall("too few", field="dataset", row=7), "class-too-small", "/dataset/rows/7"),
        (InvalidVerbalizer("same word", field="verbalizer.a"), "invalid-verbalizer", "/verbalizer/a"),
    ],
)
def test_invalid_input_has_a_pointer(error: LensError, code: str, pointer: str) -> None:
    problem = describe_failure(error, SETTINGS, INSTANCE)

    assert problem["type"] == f"https://lens.test/problems/{code}"
    assert problem["detail"] == str(error)
    assert problem["instance"] == INSTANCE
    assert problem["errors"] == [{"detail": str(error), "pointer": pointer}]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownModel("gone"), "unknown-model"),
        (NonFiniteScore("NaN"), "non-finite"),
        (OutOfMemory("too large"), "out-of-memory"),
        (NothingSelected("budget"), "nothing-selected"),
        (MemoryError(), "out-of-memory"),
    ],
)
def test_failed_run_has_a_code_and_no_pointer(error: LensError | MemoryError, code: str) -> None:
    problem = describe_failure(error, SETTINGS, INSTANCE)

    assert problem["type"] == f"https://lens.test/problems/{code}"
    assert problem["detail"]
    assert problem["errors"] == []


def test_title_is_the_first_line_of_the_docstring() -> None:
    problem = describe_failure(OutOfMemory("x"), SETTINGS, INSTANCE)
    assert problem["title"] == (OutOfMemory.__doc__ or "").splitlines()[0].rstrip(".")


def test_timeout_names_the_budget_option() -> None:
    problem = describe_timeout(SETTINGS, INSTANCE)
    assert problem["type"] == "https://lens.test/problems/timeout"
    assert "max_seconds" in problem["detail"]
