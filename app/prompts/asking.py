"""What the routes of a name share: who asks or changes, under which condition, and which version he has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.dependencies import OwnerDep, ServicesDep
from app.errors import BadRequest
from app.ids import NAME
from app.prompts import service
from app.prompts.condition import Condition
from app.prompts.schemas import PromptVersionOut
from app.prompts.service import Change, NamedAnswers
from app.store import prompts as repository
from app.store.tables import PromptVersion
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, version_etag
from app.web.openapi import not_modified, refusals, sends

READ: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503),
}
_OF_VERSION = ("name", "version", "selection_id", "note", "key_name", "created_at")


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


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what a name says, and which version of it he has."""

    name: NameDep
    owner: OwnerDep
    services: ServicesDep
    if_none_match: KnownEtag = None

    def answer(self, show: Callable[[NamedAnswers], BaseModel | Response]) -> Response:
        """Answer with a part of the current version, or 304 without reading it."""
        found = self.read()
        return found if isinstance(found, Response) else self.answer_with(found, show(found))

    def read(self) -> NamedAnswers | Response:
        """What the current version says, or 304 without reading it."""
        with self.services.database.session_scope() as session:
            if (unchanged := self._answer_known(session)) is not None:
                return unchanged
            return service.read(self.services, session, self.owner, self.name)

    def answer_with(self, found: NamedAnswers, shown: BaseModel | Response) -> Response:
        return answer_with_etag(version_etag(found.version.version), shown, REVALIDATED)

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
