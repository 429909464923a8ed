"""Routes of the examples of a name: rows are added to its pool and taken out. Decisions are in `examples.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response, status
from starlette.responses import JSONResponse

from app.answers.finding import answer_known
from app.answers.indexes import Indexes, IndexesDep
from app.datasets.service import DatasetOut
from app.dependencies import OWNER_ROUTE, OwnerDep, Page, PageDep, ServicesDep
from app.ids import encode_cursor
from app.intake.receiving import do_large
from app.prompts.examples import PoolChange, copy_examples
from app.prompts.finding import CurrentVersion, PromptFinder
from app.prompts.parameters import READ, ChangeDep, NameDep, TurnDep
from app.prompts.schemas import MOST_ADDED, ExamplesBody, Note, PromptExampleOut, PromptExamplePage, PromptVersionOut
from app.prompts.service import present
from app.store.tables import PromptVersion
from app.web.etag import REVALIDATED, KnownEtag, answer_with_etag, version_etag
from app.web.openapi import refusals, sends, takes_json
from app.web.parameters import read_last_number
from app.web.request_body import MOST_CONTAINERS, json_body

router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_POOL = "The prompts of this name find no examples for an input."
_BODY = takes_json(ExamplesBody)
_CHANGED: dict[int | str, dict[str, Any]] = {200: sends("ETag")}

BodyDep = Annotated[ExamplesBody, Depends(json_body(ExamplesBody, most_objects=MOST_CONTAINERS + MOST_ADDED))]
RowDep = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of a row of the pool.")]


@router.get(
    "/{name}/examples",
    response_model=PromptExamplePage,
    response_description="One page of rows.",
    responses=READ,
)
def list_prompt_examples(
    name: NameDep,
    owner: OwnerDep,
    services: ServicesDep,
    indexes: IndexesDep,
    page: PageDep,
    _: TurnDep,
    if_none_match: KnownEtag = None,
) -> Response:
    """List the pool of a name: the labelled rows in which its prompts find the demonstrations of an input."""
    last = read_last_number(page.last_id, 9, "cursor", "examples")
    finder = PromptFinder(services, owner, name)
    with services.database.session_scope() as session:
        known = answer_known(finder, session, if_none_match, "", "result")
        if known is not None:
            return known
        found = finder.read_current(session)
        first_added = None if found.pool is None else found.pool.find_first_added(session)
    return answer_with_etag(
        version_etag(found.version.version), _show_page(found, indexes, page, last, first_added), REVALIDATED
    )


def _show_page(
    found: CurrentVersion, indexes: Indexes, page: Page, last: int | None, first_added: int | None
) -> PromptExamplePage:
    """
    Args:
        first_added: number from which added rows are counted; None without a pool.
    """
    if found.pool is None or first_added is None:
        return PromptExamplePage(**found.about, pool_rows=None, items=[], next=None)
    pool = indexes.load(found.pool.source)
    rows = [row for row in pool.rows if last is None or row.row > last]
    items = [
        PromptExampleOut(row=one.row, text=one.text, label=one.label, added=one.row >= first_added)
        for one in rows[: page.limit]
    ]
    follow = encode_cursor(str(items[-1].row)) if len(rows) > page.limit else None
    return PromptExamplePage(**found.about, pool_rows=len(pool.rows), items=items, next=follow)


@router.post(
    "/{name}/examples",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    responses={
        **_CHANGED,
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict=f"{_NO_POOL} Or a row contradicts one of the pool, which `errors` names.",
        ),
    },
    openapi_extra=_BODY,
)
def add_prompt_examples(change: ChangeDep, indexes: IndexesDep, body: BodyDep, _: TurnDep) -> Response:
    """Add labelled rows to the pool of a name. The next prompt may show them.

    The change is a version of the name, and `If-Match` says which version it changes. A version before it has the pool
    as it was.
    """
    return _answer(PoolChange(change, indexes).add(body))


@router.delete(
    "/{name}/examples/{row}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    responses={
        **_CHANGED,
        **refusals(*(400, 401, 404, 412, 413, 428, 503), conflict=f"{_NO_POOL} Or the prompt needs the row."),
    },
)
def take_prompt_example_out(
    change: ChangeDep,
    indexes: IndexesDep,
    row: RowDep,
    _: TurnDep,
    note: Annotated[Note | None, Query(description="Why it is taken out, for the history of the name.")] = None,
) -> Response:
    """Take a row out of the pool of a name. No later prompt shows it. The change is a version of the name."""
    return _answer(PoolChange(change, indexes).take_out(row, note))


def _answer(version: PromptVersion) -> Response:
    return JSONResponse(present(version).model_dump(mode="json"), headers={"ETag": version_etag(version.version)})


@router.post(
    "/{name}/dataset",
    status_code=status.HTTP_201_CREATED,
    response_model=DatasetOut,
    response_description="The stored dataset. `Location` is its address.",
    responses={
        200: {"model": DatasetOut, "description": "Equal rows were stored already; this is their dataset."},
        201: sends("Location"),
        **refusals(400, 401, 404, 413, 503, conflict=_NO_POOL),
    },
)
async def store_prompt_dataset(request: Request, name: NameDep) -> Response:
    """Store the pool of a name and its support examples as a dataset, from which a new selection can start."""
    stored = await do_large(request, copy_examples, name)
    code = status.HTTP_201_CREATED if stored.is_new else status.HTTP_200_OK
    return JSONResponse(stored.answer, code, {"Location": f"/datasets/{stored.answer['id']}"})
