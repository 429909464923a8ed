import pytest

from app.lifecycle.claims import Claim
from app.settings import Settings
from lens_engine.errors import (
    ClassTooSmall,
    EndpointError,
    InvalidVerbalizer,
    LensError,
    NonFiniteScore,
    OutOfMemory,
    PromptTooLong,
    UnknownModel,
)
from worker.faults import describe_failure, describe_timeout

INSTANCE = "/selections/sel_1"


@pytest.mark.parametrize(
    ("error", "code", "inline", "pointer"),
    [
        (ClassTooSmall("too few", field="dataset.label", row=7), "class-too-small", False, "/dataset/rows/7/label"),
        (ClassTooSmall("too few", field="dataset.label", row=7), "class-too-small", True, "/examples/7/label"),
        (InvalidVerbalizer("same word", field="verbalizer.a.b"), "invalid-verbalizer", True, "/spec/verbalizer/a.b"),
        (PromptTooLong("long", field="options.too_long", row=7), "prompt-too-long", False, "/spec/options/too_long"),
    ],
)
def test_invalid_input_has_the_pointer_of_a_refusal(error: LensError, code: str, inline: bool, pointer: str) -> None:
    problem = describe_failure(error, INSTANCE, inline=inline)

    assert problem["type"] == f"/docs#{code}"
    assert problem["code"] == code
    assert problem["detail"] == str(error)
    assert problem["instance"] == INSTANCE
    assert problem["errors"] == [{"detail": str(error), "pointer": pointer}]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownModel("gone"), "unknown-model"),
        (NonFiniteScore("NaN"), "non-finite"),
        (OutOfMemory("too large"), "out-of-memory"),
        (MemoryError(), "out-of-memory"),
    ],
)
def test_failed_run_has_a_code_and_no_pointer(error: LensError | MemoryError, code: str) -> None:
    problem = describe_failure(error, INSTANCE)

    assert problem["type"] == f"/docs#{code}"
    assert problem["detail"]
    assert problem["errors"] == []


def test_owner_is_not_told_what_a_server_said() -> None:
    sentence = "the server of the model 'ours' refuses /v1/completions with status 401"
    error = EndpointError(sentence, said="at db.internal")

    assert "db.internal" in str(error)
    assert describe_failure(error, INSTANCE)["detail"] == sentence


def test_timeout_names_the_budget_option() -> None:
    problem = describe_timeout(Settings(_env_file=None), Claim("sel_1", 1))
    assert (problem["code"], problem["instance"]) == ("timeout", INSTANCE)
    assert "max_seconds" in problem["detail"]
    other = describe_timeout(Settings(_env_file=None), Claim("pr_1", 1, kind="prediction"))
    assert "POST /predictions/pr_1/retry" in other["detail"]
