"""Routes of /selections that every kind of job has."""

from app.jobs.endpoints import make_routes
from app.jobs.view import View
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
router = make_routes(VIEW)
