"""A text that is tried on a page, its prompt or its answer; and the page of the words, a glossary."""

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse

from app.answers.answers import Finder
from app.answers.classifying import Classifying, ClassifyingDep, classify
from app.answers.indexes import Indexes, IndexesDep
from app.answers.responding import render
from app.answers.results import SelectionFinderDep
from app.answers.schemas import ClassifyBody, RenderBody
from app.errors import ModelLoading
from app.pages.fields import FieldsDep, read_field
from app.pages.rendering import Visit, VisitDep
from app.prompts.parameters import PromptFinderDep
from app.web.dependencies import OWNER_ROUTE
from app.web.validation import read_model
from lens_engine.show.glossary import GLOSSARY

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)


@router.get("/words")
def show_words(visit: VisitDep) -> HTMLResponse:
    """What the words of the pages mean, and what papers and the API call it."""
    return visit.answer("words.html", words=GLOSSARY)


@router.post("/selections/{selection_id}/try")
async def try_selection(
    visit: VisitDep, fields: FieldsDep, finder: SelectionFinderDep, indexes: IndexesDep, classifying: ClassifyingDep
) -> HTMLResponse:
    """The prompt of a selection for a text, as it was evaluated; or the answer."""
    return await _try(visit, fields, finder, indexes, classifying)


@router.post("/prompts/{name}/try")
async def try_prompt(
    visit: VisitDep, fields: FieldsDep, finder: PromptFinderDep, indexes: IndexesDep, classifying: ClassifyingDep
) -> HTMLResponse:
    """The prompt that is live for a text; or the answer."""
    return await _try(visit, fields, finder, indexes, classifying)


async def _try(
    visit: Visit, fields: FormData, finder: Finder, indexes: Indexes, classifying: Classifying
) -> HTMLResponse:
    text, by = read_field(fields, "input"), read_field(fields, "by")
    if by == "prompt":
        wanted = read_model(RenderBody, {"input": text, "use": read_field(fields, "use") or None})
        return visit.answer("tried.html", found=await render(finder, indexes, wanted))
    body = read_model(ClassifyBody, {"inputs": [text]})
    try:
        found = await classify(visit.request, finder, classifying, body)
    except ModelLoading as error:  # the page asks again by itself
        url, asked = f"{visit.root}/pages{finder.path}/try", {"input": text}
        return visit.answer("answer.html", found=None, waits=error.detail, url=url, asked=asked)
    return visit.answer("answer.html", found=found)
