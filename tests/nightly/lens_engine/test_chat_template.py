"""A real model behind a chat API, by its chat template: the same values as from its weights."""

from pathlib import Path

import numpy as np

from lens_engine.local.scorer import CausalLMScorer
from lens_engine.opening import open_model
from lens_engine.scoring.floors import find_floors
from lens_engine.servers.address import Endpoint
from lens_engine.servers.open_endpoint import open_endpoint
from lens_engine.task.chat import ChatTask, lift_system, read_turns
from lens_engine.task.special_tokens import BEGIN
from lens_engine.task.template import Task
from lens_engine.types import Example
from tests.endpoints.chat_double import MODEL, ChatDouble, TemplateChat
from tests.endpoints.serving import serving

TASK = Task("{text} {label}", {"p": "yes", "n": "no"})
EXAMPLES = [Example(0, "Is the sky blue?", "p"), Example(1, "Is snow black?", "n"), Example(2, "Is grass green?", "p")]
TEXTS = ["Is milk white?", "Is coal white?", "Do dogs bark?"]


def test_values_are_those_of_the_weights(tmp_path: Path) -> None:
    local = open_model("smollm2-135m-instruct", pair_cache_bytes=None).scorer
    assert isinstance(local, CausalLMScorer)
    with serving(ChatDouble(model=TemplateChat(local))) as double:
        endpoint = Endpoint("openai-chat", f"{double.url}/v1", MODEL)
        scorer = open_endpoint(endpoint, cache_dir=tmp_path, answer_bytes=None)
        task = scorer.fit_task(TASK)
        assert isinstance(task, ChatTask)
        prefix = task.render_prefix(EXAMPLES)
        found = scorer.score([prefix], [task.render_query(text) for text in TEXTS], task.label_spans)[0]
        scorer.close()
    prompts = [lift_system(read_turns(task.render_prompt(EXAMPLES, text))) for text in TEXTS]
    expected = local.score([()], [BEGIN + local.render_chat(one) for one in prompts], task.label_spans)[0]
    is_listed = ~find_floors(found)
    assert is_listed.any(axis=1).all()
    # The same word after a space is another token, which counts too; and the weights have four bits.
    assert np.abs(found - expected)[is_listed].max() < 0.2
    assert np.array_equal(found.argmax(axis=1), expected.argmax(axis=1))
