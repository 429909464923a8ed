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
def test_an_input_to_mend_is_pointed_at(error: LensError, code: str, pointer: str) -> None:
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
        (NothingSelected("out of budget", stop_reason="budget"), "nothing-selected"),
        (MemoryError(), "out-of-memory"),
    ],
)
def test_a_failure_of_the_run_has_a_code_and_no_pointer(error: LensError | MemoryError, code: str) -> None:
    problem = describe_failure(error, SETTINGS, INSTANCE)

    assert problem["type"] == f"https://lens.test/problems/{code}"
    assert problem["detail"]
    assert problem["errors"] == []


def test_the_title_is_a_sentence_of_the_error_s_own() -> None:
    problem = describe_failure(OutOfMemory("x"), SETTINGS, INSTANCE)
    assert problem["title"] == "The device has too little memory even for the smallest batch"


def test_a_timeout_says_how_to_mend_it() -> None:
    problem = describe_timeout(SETTINGS, INSTANCE)
    assert problem["type"] == "https://lens.test/problems/timeout"
    assert "max_seconds" in problem["detail"]
