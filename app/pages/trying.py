"""A text that is tried on a page, its prompt or its answer; and the page of the words, a glossary."""

from fastapi import APIRouter, Depends
from starlette.responses import HTMLResponse

from app.answers.answers import render
from app.answers.classifying import ClassifyingDep, classify
from app.answers.indexes import IndexesDep
from app.answers.results import find_selection
from app.answers.schemas import ClassifyBody, RenderBody
from app.errors import Unavailable
from app.pages.fields import FieldsDep, read_field
from app.pages.rendering import VisitDep
from app.prompts.answer_endpoints import FinderDep
from app.prompts.parameters import find_prompt
from app.web.dependencies import OWNER_ROUTE
from app.web.validation import read_model
from lens_engine.show.glossary import GLOSSARY

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)


@router.get("/words")
def show_words(visit: VisitDep) -> HTMLResponse:
    """What the words of the pages mean, and what papers and the API call it."""
    return visit.answer("words.html", words=GLOSSARY)


@router.post("/selections/{selection_id}/try", dependencies=[Depends(find_selection)])
@router.post("/prompts/{name}/try", dependencies=[Depends(find_prompt)])
async def try_text(
    visit: VisitDep, fields: FieldsDep, finder: FinderDep, indexes: IndexesDep, classifying: ClassifyingDep
) -> HTMLResponse:
    """The prompt for a text, as it was evaluated; or the answer."""
    text, by = read_field(fields, "input"), read_field(fields, "by")
    if by == "prompt":
        wanted = read_model(RenderBody, {"input": text, "use": read_field(fields, "use") or None})
        return visit.answer("tried.html", found=await render(finder, indexes, wanted))
    body = read_model(ClassifyBody, {"inputs": [text]})
    try:
        found = await classify(visit.request, finder, classifying, body)
    except Unavailable as error:
        if error.code != "model-loading":
            raise
        # The page asks again by itself.
        url, asked = f"{visit.root}/pages{finder.path}/try", {"input": text}
        return visit.answer("answer.html", found=None, waits=error.detail, url=url, asked=asked)
    return visit.answer("answer.html", found=found)
