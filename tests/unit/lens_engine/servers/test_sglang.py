"""SGLang's own call: right values, and answers of another form."""

from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from tests.endpoints.double import Double, HashBehind
from tests.unit.lens_engine.servers.conftest import Connect

PREFIX = ("It was good.\n", "It was bad.\n")
QUERIES = [f"Text {number}. It was" for number in range(20)]
SPANS = [" great", " grim"]


def test_scores_are_those_of_the_model_behind(connect: Connect, double: Double) -> None:
    scorer = connect(kind="sglang")
    asked = double.num_completions
    found = scorer.score([PREFIX], QUERIES, SPANS)
    right = [[HashBehind().score(PREFIX, query, span) for span in SPANS] for query in QUERIES]
    assert np.allclose(found[0], right, atol=1e-5)
    assert double.num_completions - asked < 20
    assert scorer.spending.cached_tokens > 0
    assert scorer.identity.executor == "sglang"


def _without_wanted(answer: list[dict[str, Any]]) -> Any:
    for one in answer:
        one["meta_info"]["output_token_ids_logprobs"] = None
    return answer


def _with_others(answer: list[dict[str, Any]]) -> Any:
    for one in answer:
        one["meta_info"]["output_token_ids_logprobs"] = [[[-1.0, 7, None]]]
    return answer


def _counted_less(answer: list[dict[str, Any]]) -> Any:
    answer[0]["meta_info"]["prompt_tokens"] -= 1
    return answer


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (_without_wanted, "form that sglang does not have"),
        (_with_others, "gave no log-probability"),
        (_counted_less, "check: tokens"),
        (lambda answer: {"choices": answer}, "form that sglang does not have"),
    ],
)
def test_answer_with_a_fault_is_refused(connect: Connect, double: Double, fault: Any, message: str) -> None:
    double.fault = fault
    with pytest.raises(EndpointError, match=message):
        connect(kind="sglang")
