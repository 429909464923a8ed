"""A text that is tried on a page: its prompt."""

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse

from app.answers.finding import Finder
from app.answers.indexes import Indexes, IndexesDep
from app.answers.responding import render
from app.answers.schemas import RenderBody
from app.dependencies import OWNER_ROUTE
from app.pages.fields import FieldsDep, read_field
from app.pages.rendering import answer
from app.prompts.parameters import PromptFinderDep
from app.selections.finding import SelectionFinderDep
from app.web.validation import read_model

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)


@router.post("/selections/{selection_id}/try")
async def try_selection(
    request: Request, fields: FieldsDep, finder: SelectionFinderDep, indexes: IndexesDep
) -> HTMLResponse:
    """The prompt of a selection for a text, as it was evaluated."""
    return await _try(request, fields, finder, indexes)


@router.post("/prompts/{name}/try")
async def try_prompt(request: Request, fields: FieldsDep, finder: PromptFinderDep, indexes: IndexesDep) -> HTMLResponse:
    """The prompt that is live for a text."""
    return await _try(request, fields, finder, indexes)


async def _try(request: Request, fields: FormData, finder: Finder, indexes: Indexes) -> HTMLResponse:
    text = read_field(fields, "input")
    wanted = read_model(RenderBody, {"input": text, "use": read_field(fields, "use") or None})
    return answer(request, "tried.html", found=await render(finder, indexes, wanted))
