"""The page of the words: a glossary."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.dependencies import OWNER_ROUTE
from app.pages.rendering import answer
from lens_engine.show.glossary import GLOSSARY

router = APIRouter(prefix="/pages", dependencies=OWNER_ROUTE, include_in_schema=False)


@router.get("/words")
def show_words(request: Request) -> HTMLResponse:
    """What the words of the pages mean, and what papers and the API call it."""
    return answer(request, "words.html", words=GLOSSARY)
