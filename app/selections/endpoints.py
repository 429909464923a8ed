"""Routes of what production reads of a selection."""

from app.answers.answers import Answers
from app.answers.endpoints import AnswerRoutes, Operation
from app.dependencies import SELECTION_ID
from app.selections.finding import SelectionFinder

_NO_EXAMPLES = "The selection has chosen no examples yet, or it ended without a result."
_NO_RESULT = "The selection has no result yet, or it ended without one."

router = AnswerRoutes(
    SelectionFinder,
    Answers,
    "/selections/{selection_id}",
    SELECTION_ID,
    {
        "support-examples": Operation("get_support_examples", _NO_EXAMPLES),
        "classifier": Operation(
            "get_classifier", f"{_NO_RESULT} Or the result has no classifier; `detail` says how to get one."
        ),
        "export": Operation("export_support_examples", _NO_RESULT),
        "render": Operation(
            "render_prompt",
            f"{_NO_EXAMPLES} Or the classifier was asked for, and there is none; `detail` says how to get one.",
        ),
    },
    is_brief=True,
).router
