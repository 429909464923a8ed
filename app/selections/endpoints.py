"""Routes of /selections that every kind of job has, and those of what production reads."""

from app.answers.answers import Answers
from app.answers.endpoints import AnswerRoutes, Operation
from app.dependencies import SELECTION_ID
from app.jobs.endpoints import JobRoutes
from app.jobs.view import View
from app.selections.finding import SelectionFinder
from app.selections.presentation import present
from app.selections.schemas import SelectionOut, SelectionPage, SelectionSummary

VIEW = View(
    kind="selection",
    prefix="sel",
    summary=SelectionSummary,
    out=SelectionOut,
    page=SelectionPage,
    present=lambda _, job, place: present(job, place),
    keeps="its best permutation so far",
    resumes="It goes on from its checkpoint, or from the start if none is kept. Its partial result is deleted at once.",
)
_NO_EXAMPLES = "The selection has chosen no examples yet, or it ended without a result."
_NO_RESULT = "The selection has no result yet, or it ended without one."

router = JobRoutes(VIEW).router
answers = AnswerRoutes(
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
