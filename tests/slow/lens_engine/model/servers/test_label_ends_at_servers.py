"""Label words that begin others are scored with what ends them at every kind of server that takes tokens."""

import numpy as np
import pytest

from lens_engine.errors import InvalidVerbalizer
from lens_engine.prompt.template import Task
from tests.endpoints.double import Double, HashBehind
from tests.unit.lens_engine.model.servers.conftest import Connect

TASK = Task.for_labels(["refund", "refund status", "parcel"], "{text} Topic: {label}.")
PREFIXES = [(), ("It was late. Topic: refund.\n",)]
QUERIES = [f"Text {number}. Topic:" for number in range(5)]


@pytest.mark.parametrize("kind", ["vllm", "llama-cpp"])
def test_scores_are_those_of_words_with_what_ends_them(connect: Connect, double: Double, kind: str) -> None:
    double.listed = 20
    scorer = connect(kind=kind)
    task = scorer.fit_task(TASK)
    assert task.label_spans == (" refund.", " refund status.", " parcel.")
    right = [[[HashBehind().score(p, q, span) for span in task.label_spans] for q in QUERIES] for p in PREFIXES]
    assert np.allclose(scorer.score(PREFIXES, QUERIES, task.label_spans), right, atol=1e-5)


def test_words_that_nothing_ends_are_refused_before_a_question(connect: Connect, double: Double) -> None:
    scorer = connect()
    asked = double.num_prompts
    with pytest.raises(InvalidVerbalizer, match="nothing ends a label word"):
        scorer.fit_task(Task.for_labels(["refund", "refund status"], "{text} {label}", separator=""))
    assert double.num_prompts == asked
