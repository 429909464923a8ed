"""Results whose prompts find examples for each input, and what the library asks a model for the same inputs."""

from collections.abc import Sequence
from typing import Any

from lens_engine.config import Use
from lens_engine.model.base import Prefix
from lens_engine.prompt.pool import Pool, PromptForm
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.integration.samples import make_answer, make_result, make_rows


def make_pool_of_rows(numbers: Sequence[int] = range(40)) -> Pool:
    """A pool of these rows of `make_rows`."""
    rows = make_rows()
    return Pool.of([Example(number, rows[number]["text"], rows[number]["label"]) for number in numbers])


def make_finding_result(pool: Pool | None = None, *, nearest: int = 2) -> SelectionResult:
    """A result without a classifier. Its prompt has rows of the input, and for probabilities two fixed ones before."""
    fixed, both = make_answer("prompt", "lens", 3, 0), make_answer("probabilities", "lens", 4, 1)
    found: dict[str, Any] = {"examples": (), "prompt": "", "method": "nearest"}
    answers = (
        fixed.model_copy(update={**found, "form": PromptForm(kind="nearest", nearest=nearest), "fixed": fixed}),
        both.model_copy(update={"form": PromptForm(kind="fixed+nearest", nearest=nearest), "fixed": both}),
    )
    changes = {"support_examples": answers, "pool": pool or make_pool_of_rows()}
    return make_result(has_classifier=False).model_copy(update=changes).with_digest()


def take_task(result: SelectionResult, task: Task, fixed: Sequence[Example]) -> SelectionResult:
    """The result as if its prompts were made for this task, with these fixed demonstrations."""
    words, prefix = task.verbalizer.words, "".join(task.render_prefix(fixed))

    def change(answer: SupportExamples) -> SupportExamples:
        shown = answer.examples[0] if answer.examples else make_answer("prompt", "lens", 3).examples[0]
        examples = tuple(
            shown.model_copy(
                update={
                    "position": position,
                    "row": one.row,
                    "text": one.text,
                    "label": one.label,
                    "label_word": words[one.label],
                }
            )
            for position, one in enumerate(fixed)
        )
        plain = answer.plain.model_copy(update={"examples": examples, "prompt": prefix})
        if answer.form.kind == "fixed+nearest":
            return answer.model_copy(update={"examples": examples, "prompt": prefix, "fixed": plain})
        return answer.model_copy(update={"prompt": "".join(task.render_prefix(())), "fixed": plain})

    answers = tuple(map(change, result.support_examples))
    return result.model_copy(update={"task": TaskRecord.of(task), "support_examples": answers}).with_digest()


def list_asked(result: SelectionResult, use: Use, texts: Sequence[str]) -> list[str]:
    """The prompts that the library asks a model for these texts, up to the label word."""
    asked: dict[str, None] = {}

    def note(prefix: Prefix, query: str, _: str) -> float:
        asked["".join(prefix) + query] = None
        return -1.0

    scorer = TableScorer(note, max_prompt_tokens=10**9)
    for text in texts:
        classifier_of_prompt(result, use).class_log_probs([text], scorer)
    return list(asked)
