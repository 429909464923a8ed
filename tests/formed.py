"""A result whose prompt finds demonstrations for each input."""

from lens_engine.config import FormKind
from lens_engine.prompt.pool import Pool, PromptForm
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.types import Example

POOL = Pool.of(
    [
        Example(1000 + row, f"{text} {row}", label)
        for row, (text, label) in enumerate(
            [
                ("a warm film", "positive"),
                ("a dull film", "negative"),
                ("Film of joy", "positive"),
                ("Film of 12 jokes", "negative"),
            ]
            * 6
        )
    ]
)
"""24 rows, with numbers that no other row has."""


def take_form(result: SelectionResult, kind: FormKind = "nearest", nearest: int = 2) -> SelectionResult:
    """The result as if this form was the best for each use, over `POOL`, without digest."""
    form = PromptForm(kind=kind, nearest=nearest)
    answers = tuple(_take_form(answer, form, result) for answer in result.support_examples)
    rows = () if kind == "nearest" else result.rows
    contenders = [
        one.model_copy(update={"name": f"{form.name} {one.use}", "method": kind, "form": form, "rows": rows})
        for one in result.contenders
        if one.method == "lens"
    ]
    changes = {"support_examples": answers, "pool": POOL, "contenders": (*contenders, *result.contenders)}
    return result.model_copy(update=changes)


def _take_form(answer: SupportExamples, form: PromptForm, result: SelectionResult) -> SupportExamples:
    opening = result.task.task().opening
    return answer.model_copy(
        update={
            "method": form.kind,
            "form": form,
            "fixed": answer,
            "examples": () if form.kind == "nearest" else answer.examples,
            "prompt": "".join(opening) if form.kind == "nearest" else answer.prompt,
        }
    )
