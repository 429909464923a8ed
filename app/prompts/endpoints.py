"""Routes of /prompts: names, versions, and the rows of their pools. Decisions are in `service.py` and `examples.py`."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response, status
from starlette.responses import JSONResponse

from app.answers import files
from app.answers.answers import Indexes, IndexesDep, end_if_known
from app.answers.schemas import EvaluationOut, EvaluationPage
from app.errors import BadRequest
from app.ids import NAME
from app.prompts import schemas, service
from app.prompts.examples import PoolChange, copy_examples
from app.prompts.finding import CurrentVersion, PromptFinder
from app.prompts.service import Change, Condition, present
from app.selections.dataset_endpoints import STORED, STORED_DATASET, answer_stored
from app.selections.datasets import DatasetOut
from app.selections.parts import COLUMN_PARTS, describe_upload
from app.selections.receiving import Upload, do_large, receive
from app.store import prompts as repository
from app.store.quota import check_bytes, lock_owner
from app.store.tables import PromptEvaluation, PromptVersion
from app.web.dependencies import OWNER_ROUTE, OwnerDep, Page, PageDep, ServicesDep, SessionDep
from app.web.openapi import not_modified, refusals, sends, takes_json
from app.web.parameters import REVALIDATED, KnownEtag, answer_with_etag, read_last_number, version_etag
from app.web.request_body import MOST_CONTAINERS, json_body

READ: dict[int | str, dict[str, Any]] = {200: sends("ETag"), **not_modified(), **refusals(400, 401, 404, 503)}
"""OpenAPI entries of a route that reads a prompt."""

MOST_POOLS = 4
"""Requests of different owners that read all rows of a pool at the same time."""


async def get_name(name: Annotated[str, Path(description="Name of a prompt.", examples=["support-triage"])]) -> str:
    """Return the name in the path."""
    if not NAME.fullmatch(name):
        raise BadRequest(
            "a name has 1 to 100 lower-case letters, digits, dots, dashes and underscores, and begins with a letter or "
            "digit"
        )
    return name


NameDep = Annotated[str, Depends(get_name)]
RowDep = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of a row of the pool.")]


async def find_prompt(request: Request, name: NameDep) -> None:
    """Let routes that selections have too find what the name in the path says."""
    request.state.make_finder = partial(PromptFinder, name=name)


async def get_change(
    request: Request,
    name: NameDep,
    owner: OwnerDep,
    services: ServicesDep,
    if_match: Annotated[str | None, Header(description="`ETag` of the version that is changed.")] = None,
    if_none_match: Annotated[str | None, Header(description="`*` for a name that must be new.")] = None,
) -> Change:
    return Change(services, owner, name, Condition(if_match, if_none_match), request.state.key_name)


ChangeDep = Annotated[Change, Depends(get_change)]


async def take_turn(request: Request, owner: OwnerDep) -> AsyncIterator[None]:
    """Wait without a thread until no other request of the owner reads all rows of a pool, and few of all owners do.

    A large pool takes a second, in which Python answers other requests more slowly, and 60 MB.
    """
    async with request.app.state.pool_turns[owner], request.app.state.pool_places:
        yield


TurnDep = Annotated[None, Depends(take_turn, scope="function")]
"""Stands behind what reads the body: a slow client holds no turn."""


router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_POOL = "The prompts of this name find no examples for an input."

BodyDep = Annotated[schemas.PromptBody, Depends(json_body(schemas.PromptBody))]
ExamplesDep = Annotated[
    schemas.ExamplesBody, Depends(json_body(schemas.ExamplesBody, most_objects=MOST_CONTAINERS + schemas.MOST_ADDED))
]


@router.get("", response_description="One page of names.", responses=refusals(400, 401, 503))
def list_prompts(session: SessionDep, owner: OwnerDep, page: PageDep) -> schemas.PromptPage:
    """List your names with their current versions."""
    found, cursor = page.cut(repository.list_names(session, owner, page.last_id, page.limit), lambda one: one.name)
    return schemas.PromptPage(items=list(map(present, found)), next=cursor)


@router.put(
    "/{name}",
    response_model=schemas.PromptVersionOut,
    response_description="The version that the name has now.",
    responses={
        200: sends("ETag"),
        201: {
            "model": schemas.PromptVersionOut,
            "description": "The version of a new name.",
            **sends("ETag", "Location"),
        },
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict="The selection has no result.",
            is_conflict_brief=True,
        ),
    },
    openapi_extra=takes_json(schemas.PromptBody),
)
def put_prompt(change: ChangeDep, body: BodyDep) -> Response:
    """Publish what a selection found as the next version of a prompt, or take up an earlier version again.

    Production reads the prompt by its name and needs no change. A version is a copy: a selection may be deleted
    afterwards.
    """
    made = change.put(body)
    return _answer(made, 201, Location=f"/prompts/{made.name}") if change.condition.if_match is None else _answer(made)


@router.get(
    "/{name}",
    response_model=schemas.PromptVersionOut,
    response_description="The version that the name has now.",
    responses=READ,
)
def get_prompt(name: NameDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None) -> Response:
    """Return the current version of a prompt, and how good it is."""
    with services.database.session_scope() as session:
        end_if_known(PromptFinder(services, owner, name), session, if_none_match, "")
        found = service.get(session, owner, name)
        return answer_with_etag(version_etag(found.version), present(found), REVALIDATED)


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The name was deleted.",
    responses=refusals(400, 401, 404, 412, 428, 503),
)
def delete_prompt(change: ChangeDep) -> None:
    """Delete a prompt with the contents of all its versions. A new one of this name goes on with the numbers."""
    change.delete()


@router.get("/{name}/versions", response_description="One page of versions.", responses=refusals(400, 401, 404, 503))
def list_prompt_versions(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> schemas.PromptHistory:
    """List the versions of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 9, "cursor", "versions")
    found = [present(one) for one in repository.list_versions(session, owner, name, before, page.limit)]
    items, cursor = page.cut(found, lambda one: one.version)
    return schemas.PromptHistory(items=items, next=cursor)


@router.get(
    "/{name}/examples",
    response_model=schemas.PromptExamplePage,
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
        end_if_known(finder, session, if_none_match, "")
        found = finder.read_current(session)
        first_added = None if found.pool is None else found.pool.find_first_added(session)
    return answer_with_etag(
        version_etag(found.version.version), _show_page(found, indexes, page, last, first_added), REVALIDATED
    )


def _show_page(
    found: CurrentVersion, indexes: Indexes, page: Page, last: int | None, first_added: int | None
) -> schemas.PromptExamplePage:
    """`first_added`: number from which added rows are counted; None without a pool."""
    if found.pool is None or first_added is None:
        return schemas.PromptExamplePage(**found.about, pool_rows=None, items=[], next=None)
    pool = indexes.load(found.pool.source)
    rows, cursor = page.cut([row for row in pool.rows if last is None or row.row > last], lambda one: one.row)
    items = [
        schemas.PromptExampleOut(row=one.row, text=one.text, label=one.label, added=one.row >= first_added)
        for one in rows
    ]
    return schemas.PromptExamplePage(**found.about, pool_rows=len(pool.rows), items=items, next=cursor)


@router.post(
    "/{name}/examples",
    response_model=schemas.PromptVersionOut,
    response_description="The version that the name has now.",
    responses={
        200: sends("ETag"),
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict=f"{_NO_POOL} Or a row contradicts one of the pool, which `errors` names.",
        ),
    },
    openapi_extra=takes_json(schemas.ExamplesBody),
)
def add_prompt_examples(change: ChangeDep, indexes: IndexesDep, body: ExamplesDep, _: TurnDep) -> Response:
    """Add labelled rows to the pool of a name. The next prompt may show them; a classifier does not learn from them.

    Where the answers of the name come from its classifier (`first`), they stay as they are, and `warning` says so.
    The change is a version of the name, and `If-Match` says which version it changes. A version before it has the pool
    as it was.
    """
    return _answer(PoolChange(change, indexes).add(body))


@router.delete(
    "/{name}/examples/{row}",
    response_model=schemas.PromptVersionOut,
    response_description="The version that the name has now.",
    responses={
        200: sends("ETag"),
        **refusals(*(400, 401, 404, 412, 413, 428, 503), conflict=f"{_NO_POOL} Or the prompt needs the row."),
    },
)
def take_prompt_example_out(
    change: ChangeDep,
    indexes: IndexesDep,
    row: RowDep,
    _: TurnDep,
    note: Annotated[schemas.Note | None, Query(description="Why it is taken out, for the history of the name.")] = None,
) -> Response:
    """Take a row out of the pool of a name. No later prompt shows it. The change is a version of the name."""
    return _answer(PoolChange(change, indexes).take_out(row, note))


def _answer(version: PromptVersion, code: int = 200, **headers: str) -> Response:
    shown = present(version).model_dump(mode="json")
    return JSONResponse(shown, code, {"ETag": version_etag(version.version), **headers})


@router.post(
    "/{name}/dataset",
    status_code=status.HTTP_201_CREATED,
    response_model=DatasetOut,
    response_description=STORED_DATASET,
    responses={**STORED, **refusals(400, 401, 404, 413, 503, conflict=_NO_POOL)},
)
async def store_prompt_dataset(request: Request, name: NameDep) -> Response:
    """Store the pool of a name and its support examples as a dataset, from which a new selection can start."""
    return answer_stored(await do_large(request, copy_examples, name))


@router.post(
    "/{name}/evaluations",
    response_description="The figures; kept with the version if that was asked.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503, conflict="The version has no classifier."),
    openapi_extra=describe_upload("FiguresForm", {"texts": "october.csv", "answers": "answers.json"}),
)
def evaluate_prompt(
    name: NameDep, upload: Annotated[Upload, receive("texts", "answers", "spec", *COLUMN_PARTS)]
) -> EvaluationOut:
    """Measure answers to the rows of a labelled file, which `classify` gave. The rows are not stored."""
    measured = upload.do(partial(files.measure_file, partial(PromptFinder, name=name)))
    owner, settings = upload.owner_id, upload.services.settings
    with upload.services.database.session_scope() as session:
        made = PromptEvaluation(
            owner_id=owner,
            name=name,
            version=service.get(session, owner, name).version,
            title=measured.title,
            result=measured.result.model_dump(mode="json"),
        )
        if measured.keep:
            lock_owner(session, owner, settings)
            session.add(made)
            session.flush()
            check_bytes(session, owner, settings)
        return EvaluationOut.model_validate(made)


@router.get("/{name}/evaluations", response_description="One page of figures.", responses=refusals(400, 401, 404, 503))
def list_evaluations(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> EvaluationPage:
    """List the figures that were kept of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 18, "cursor", "evaluations")  # digits of 64 bits
    found = repository.list_evaluations(session, owner, name, before, page.limit)
    kept, cursor = page.cut(found, lambda one: one.id)
    return EvaluationPage(items=list(map(EvaluationOut.model_validate, kept)), next=cursor)
