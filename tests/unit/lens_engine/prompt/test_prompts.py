"""A rendered prompt is, byte for byte, what the classifier of the prompt asks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.errors import InvalidConfig
from lens_engine.model.base import Prefix
from lens_engine.prompt.chat import ask_for_letters, ask_for_words, lift_system, read_turns, write_turns
from lens_engine.prompt.pool import Pool, PromptForm, PromptRenderer, Retrieval
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import EndedTask, Task
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.formed import POOL, take_form
from tests.unit.lens_cli.results import CLASSIFIER, make_answer, make_result
from tests.unit.lens_engine.prompt.odd_texts import TEXTS

PLAIN = Task("Message: {text}\nTopic:  {label}!", {"a": "Alpha", "b": "ß \u2028\"'", "__proto__": "{text}"}, "\r\n\r\n")
TASKS = {
    "plain": PLAIN,
    "ended": EndedTask(Task("{{{text}}} {label}.", {"a": "refund", "b": "refund status", "__proto__": "c"}, ""), "."),
    "words": ask_for_words(PLAIN, ["Al", "ß", "{"]),
    "letters": ask_for_letters(PLAIN),
}
INSTRUCTED = Task("{text} -> {label}", PLAIN.verbalizer.words, instruction="Which topic?\n{text}")
FORMS = {"fixed": PromptForm(), "nearest": PromptForm(kind="nearest", nearest=2)}
FORMS["fixed+nearest"] = PromptForm(kind="fixed+nearest", nearest=3)


class Recorder(TableScorer):
    """Keeps each prompt that it is asked."""

    gives_answers_only = False

    def __init__(self, *, takes_turns: bool) -> None:
        super().__init__(self._keep, max_prompt_tokens=10**6)
        self.takes_turns = takes_turns
        self.asked: dict[str, None] = {}

    def fit_task(self, task: Task) -> Task:
        return task

    def _keep(self, prefix: Prefix, query: str, _: str) -> float:
        prompt = "".join(prefix) + query
        self.asked[write_turns(lift_system(read_turns(prompt))) if self.takes_turns else prompt] = None
        return -1.0


def make_prompt(task: Task, form: PromptForm, rows: list[tuple[str, str]]) -> Any:
    """A renderer, and the classifier of the same prompt."""
    examples = [Example(2 * place + 1, text, label) for place, (text, label) in enumerate(rows)]
    fixed = () if form.kind == "nearest" else examples[:2][::-1]
    retrieval = Retrieval(form=form, pool=Pool.of(examples)) if form.nearest else None
    prompt = CLASSIFIER.prompts[0].model_copy(
        update={"rows": tuple(one.row for one in fixed), "demonstrations": task.render_prefix(fixed)}
    )
    made = {"task": TaskRecord.of(task), "prompts": (prompt,), "retrieval": retrieval}
    return PromptRenderer.of(task, fixed, retrieval), CLASSIFIER.model_copy(update=made)


@settings(deadline=None)
@given(
    name=st.sampled_from(["instructed", *sorted(TASKS)]),
    form=st.sampled_from(sorted(FORMS)),
    rows=st.lists(st.tuples(TEXTS, st.sampled_from(PLAIN.labels)), min_size=2, max_size=8),
    texts=st.lists(TEXTS, min_size=1, max_size=3, unique=True),
)
def test_rendered_prompt_is_what_is_asked(name: str, form: str, rows: list[tuple[str, str]], texts: list[str]) -> None:
    task = TASKS.get(name, INSTRUCTED)
    renderer, classifier = make_prompt(task, FORMS[form], rows)
    scorer = Recorder(takes_turns=name in ("words", "letters"))

    classifier.class_log_probs(texts, scorer)

    rendered = renderer.render(texts)
    assert [one.text for one in rendered] == list(scorer.asked)
    assert [one.turns is None for one in rendered] == [not scorer.takes_turns] * len(texts)
    assert all(len(one.found) == min(FORMS[form].nearest, len(one.found)) for one in rendered)


@pytest.mark.parametrize("kind", ["nearest", "fixed+nearest"])
def test_result_renders_the_prompt_and_says_what_was_found(kind: Any) -> None:
    result = take_form(make_result(task=CLASSIFIER.task), kind)

    rendered = result.render("a dull film, and long")

    assert [one.example.label for one in rendered.found] == ["negative"] * 2
    assert rendered.found[0].similarity <= rendered.found[1].similarity < 1
    assert rendered.found[1].example.text in rendered.text
    assert rendered.text.endswith("a dull film, and long It was")
    assert rendered.text.startswith("[red]loved[/red] it It was great.") == (kind == "fixed+nearest")
    scorer = Recorder(takes_turns=False)
    classifier_of_prompt(result).class_log_probs(["a dull film, and long"], scorer)
    assert list(scorer.asked) == [rendered.text]


def test_each_use_renders_its_own_prompt() -> None:
    answers = (make_answer("prompt"), make_answer("probabilities", examples=(), prompt=""))
    result = make_result(task=CLASSIFIER.task, support_examples=answers)

    assert result.render("a film").text == "[red]loved[/red] it It was great.\na film It was"
    assert result.render("a film", "probabilities").text == "a film It was"
    assert result.render("a film").found == ()


def test_result_without_its_pool_is_refused() -> None:
    formed = take_form(make_result(task=CLASSIFIER.task))
    assert formed.pool == POOL
    with pytest.raises(InvalidConfig, match="has not the pool in which it finds rows"):
        formed.model_copy(update={"pool": None}).render("a film")
