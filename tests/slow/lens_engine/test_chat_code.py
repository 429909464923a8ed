"""Code that is exported for a chat asks the turns and gives the probabilities."""

from pathlib import Path

import numpy as np
import pytest

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import PriorHead
from lens_engine.classifier.prompt import ModelRecord, Prompt
from lens_engine.exports import write_classifier_export
from lens_engine.task.chat import ChatTask, lift_system, read_turns
from lens_engine.task.record import TaskRecord
from lens_engine.types import Example
from tests.endpoints.chat_double import ChatDouble, HashChat
from tests.endpoints.serving import serving
from tests.slow.lens_engine.test_classifier_exports import run_code
from tests.unit.lens_engine.test_chat_exports import INSTRUCTED, TASK
from tests.unit.lens_engine.test_exports import AWKWARD


@pytest.mark.parametrize("task", [TASK, INSTRUCTED], ids=["plain", "instructed"])
def test_code_asks_the_turns_and_gives_the_probabilities(task: ChatTask, tmp_path: Path) -> None:
    head = PriorHead(biases=((0.5, -0.25, 0.0), (0.0, 0.0, 1.0)), temperature=0.7)
    examples = [Example(place, text, "zero") for place, text in enumerate(AWKWARD)]
    prompts = tuple(Prompt(rows=(0,), demonstrations=task.render_prefix(examples[place::2])) for place in range(2))
    fields = {"seed": None, "temperature": None, "stop": ["\u2028", True], "max_completion_tokens": 16}
    form = task.chat.model_copy(update={"fields": fields})
    classifier = Classifier(
        task=TaskRecord.of(ChatTask(task, form)),
        prompts=prompts,
        head=head,
        fit_rows=9,
        model=ModelRecord(model="m", revision="0" * 64, dtype="float32", device="endpoint"),
        tokens_per_input=1.0,
    )
    texts = ["about billing", *AWKWARD]
    with serving(ChatDouble()) as double:
        code = write_classifier_export(classifier)
        found = run_code(code, tmp_path, f"{double.url}/v1", texts)
    sent = {"logprobs": True, "top_logprobs": 20, "stop": fields["stop"], "max_completion_tokens": 16}
    assert all(body | {"messages": 0} == {"model": "toy", "messages": 0, **sent} for body in double.bodies)
    scores = np.array([[_score(task, prefix, text) for text in texts] for prefix in classifier.prefixes])
    expected = np.exp(head.class_log_probs(scores))
    answered = [[one["probabilities"][label] for label in classifier.labels] for one in found]
    assert np.allclose(answered, expected.clip(min=1e-6), atol=1e-6)


def _score(task: ChatTask, prefix: tuple[str, ...], text: str) -> list[float]:
    """`{good}` is no token of the model, so it is a floor."""
    found = HashChat()(lift_system(read_turns("".join(prefix) + task.render_query(text))))
    listed = dict(sorted(found.items(), key=lambda one: -one[1])[:20])
    billing = float(np.logaddexp(listed["Billing"], listed[" Billing"]))
    return [billing, min(listed.values()), listed["Delivery"]]
