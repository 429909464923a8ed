"""Routes of /prompts: what production reads. Decisions are in `service.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response, status
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep, SessionDep
from app.errors import BadRequest
from app.ids import NAME, encode_cursor
from app.models import PromptVersion
from app.prompts import repository, service
from app.prompts.schemas import (
    NamedPrompts,
    NamedSupportExamples,
    PromptBody,
    PromptHistory,
    PromptPage,
    PromptVersionOut,
)
from app.prompts.service import Change, Condition, NamedAnswers
from app.selections import openapi
from app.selections.measured_forms import find_measured
from app.selections.result_endpoints import FormatParameter, RenderBodyDep, UseParameter, answer_export
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, version_etag
from app.web.openapi import named, not_modified, refusals, sends
from app.web.parameters import read_last_number
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier

router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_READ: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503),
}
_OF_VERSION = ("name", "version", "selection_id", "note", "key_name", "created_at")
_NO_CLASSIFIER = "The version has no classifier, or one whose prompts alone classify nothing."
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": named(PromptBody)}}}}


async def get_name(
    name: Annotated[str, Path(description="Name of a prompt.", examples=["support-triage"])],
) -> str:
    """Return the name in the path.

    Raises:
        BadRequest: it does not have the form of a name.
    """
    if not NAME.fullmatch(name):
        raise BadRequest(
            "a name has 1 to 100 lower-case letters, digits, dots, dashes and underscores, and begins with a letter or "
            "digit"
        )
    return name


NameDep = Annotated[str, Depends(get_name)]


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
BodyDep = Annotated[PromptBody, Depends(json_body(PromptBody))]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what a name says, and which version of it he has."""

    name: NameDep
    owner: OwnerDep
    services: ServicesDep
    if_none_match: KnownEtag = None

    def answer(self, show: Callable[[NamedAnswers], BaseModel | Response]) -> Response:
        """Answer with a part of the current version, or 304 without reading it."""
        with self.services.database.session_scope() as session:
            if (unchanged := self._answer_known(session)) is not None:
                return unchanged
            found = service.read(session, self.owner, self.name)
        return answer_with_etag(version_etag(found.version.version), show(found), REVALIDATED)

    def answer_about(self) -> Response:
        """Answer with the current version itself."""
        with self.services.database.session_scope() as session:
            if (unchanged := self._answer_known(session)) is not None:
                return unchanged
            found = service.get(session, self.owner, self.name)
            return answer_with_etag(version_etag(found.version), present(found), REVALIDATED)

    def _answer_known(self, session: Session) -> Response | None:
        if self.if_none_match is None:
            return None
        version = repository.find_version(session, self.owner, self.name)
        if version is None or not is_known(self.if_none_match, version_etag(version)):
            return None
        return answer_unchanged(version_etag(version), REVALIDATED)


AskedDep = Annotated[Asked, Depends()]


def present(version: PromptVersion) -> PromptVersionOut:
    """Build the API's view of a version."""
    own = {name: getattr(version, name) for name in _OF_VERSION}
    return PromptVersionOut(**own, **version.summary, warning=service.warn_of_last(version.version))


@router.get("", response_description="One page of names.", responses=refusals(400, 401, 503))
def list_prompts(session: SessionDep, owner: OwnerDep, page: PageDep) -> PromptPage:
    """List your names with their current versions."""
    found = [present(one) for one in repository.list_names(session, owner, page.last_id, page.limit)]
    items = found[: page.limit]
    return PromptPage(items=items, next=encode_cursor(items[-1].name) if len(found) > page.limit else None)


@router.put(
    "/{name}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        200: sends("ETag"),
        201: {
            "model": PromptVersionOut,
            "description": "The version of a new name.",
            **sends("ETag", "Location"),
        },
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict="The selection has no result.",
            is_conflict_brief=True,
        ),
    },
    openapi_extra=_BODY,
)
def put_prompt(change: ChangeDep, body: BodyDep) -> Response:
    """Let a name say what a selection found, or again what an earlier version said.

    Production reads the name and needs no change. The version is a copy: a selection may be deleted afterwards.
    """
    shown = present(change.put(body))
    is_new = change.condition.if_match is None
    headers = {"ETag": version_etag(shown.version), **({"Location": f"/prompts/{shown.name}"} if is_new else {})}
    return JSONResponse(shown.model_dump(mode="json"), 201 if is_new else 200, headers)


@router.get(
    "/{name}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    responses=_READ,
)
def get_prompt(asked: AskedDep) -> Response:
    """Return which version a name has, and how good it is."""
    return asked.answer_about()


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The name was deleted.",
    responses=refusals(400, 401, 404, 412, 428, 503),
)
def delete_prompt(change: ChangeDep) -> None:
    """Delete a name, with what it said in all versions. A new one of this name goes on with the numbers."""
    change.delete()


@router.get("/{name}/versions", response_description="One page of versions.", responses=refusals(400, 401, 404, 503))
def list_prompt_versions(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> PromptHistory:
    """List the versions of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 9, "cursor", "versions")
    found = [present(one) for one in repository.list_versions(session, owner, name, before, page.limit)]
    items = found[: page.limit]
    return PromptHistory(items=items, next=encode_cursor(str(items[-1].version)) if len(found) > page.limit else None)


@router.get(
    "/{name}/support-examples",
    response_model=NamedSupportExamples,
    response_description="The support examples of the current version.",
    responses=_READ,
)
def get_prompt_support_examples(asked: AskedDep, use: UseParameter = None) -> Response:
    """Return the support examples that a name says, in order."""
    return asked.answer(lambda found: NamedSupportExamples(**dict(found.answers.show(use)), **found.about))


@router.get(
    "/{name}/classifier",
    response_model=Classifier,
    response_description="The classifier of the current version.",
    responses={
        **_READ,
        200: {**openapi.CLASSIFIER, **sends("ETag")},
        **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER),
    },
)
def get_prompt_classifier(asked: AskedDep) -> Response:
    """Return the classifier that a name says: a file that `Classifier.load` of the library reads."""
    return asked.answer(NamedAnswers.get_classifier)


@router.get("/{name}/export", response_class=Response, responses=openapi.exported(_READ))
def export_prompt(asked: AskedDep, format: FormatParameter = "json", use: UseParameter = None) -> Response:
    """Return the support examples that a name says as a file that another tool loads; see the route of a selection."""
    with asked.services.database.session_scope() as session:
        found = service.read(session, asked.owner, asked.name)
        export = found.answers.prepare_export(use)
        measured = find_measured(session, asked.owner, export.digest, export.source.model, format)
    return answer_export(export, format, asked.if_none_match, measured)


@router.post(
    "/{name}/render",
    response_description="The prompts of each input.",
    responses=refusals(*(400, 401, 404, 413, 415, 422, 503), conflict=_NO_CLASSIFIER),
    openapi_extra=openapi.RENDER_BODY,
)
def render_named_prompt(name: NameDep, body: RenderBodyDep, session: SessionDep, owner: OwnerDep) -> NamedPrompts:
    """Build the prompts of a name for new inputs, as `POST /selections/{selection_id}/render` does."""
    found = service.read(session, owner, name)
    classifier = found.get_classifier() if body.prompts == "classifier" else None
    return NamedPrompts(**dict(found.answers.render(body, classifier)), **found.about)
