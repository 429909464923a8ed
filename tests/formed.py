"""A result whose prompt finds demonstrations for each input."""

from lens_engine.config import FormKind
from lens_engine.result import PromptContender, SelectionResult, SupportExamples, TriedForm
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Pool
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
    tried = (
        TriedForm(form=form, accuracy=0.95, macro_f1=0.94, n=116),
        TriedForm(form=_double(form), accuracy=0.75, macro_f1=0.7, n=25),
    )
    return result.model_copy(update={"support_examples": answers, "pool": POOL, "forms": tried})


def _double(form: PromptForm) -> PromptForm:
    return PromptForm(kind=form.kind, nearest=2 * form.nearest)


def _take_form(answer: SupportExamples, form: PromptForm, result: SelectionResult) -> SupportExamples:
    examples = () if form.kind == "nearest" else answer.examples
    opening = result.task.task().opening
    contender = PromptContender(
        method=form.kind, form=form, rows=tuple(one.row for one in examples), judged=answer.judged, test=answer.test
    )
    contenders = (*answer.contenders, contender)
    return answer.model_copy(
        update={
            "method": form.kind,
            "form": form,
            "fixed": answer.model_copy(update={"contenders": contenders}),
            "examples": examples,
            "prompt": "".join(opening) if form.kind == "nearest" else answer.prompt,
            "contenders": contenders,
        }
    )
