"""How answers are found, of a selection or of a prompt, and which version of them there is."""

from contextlib import suppress
from typing import Literal, NamedTuple, Protocol

from fastapi import Response
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.answers.answers import Answers, Version
from app.answers.indexes import Indexes, Superseded
from app.answers.schemas import RenderBody, Rendered
from app.services import Services
from app.web.etag import answer_unchanged, is_known
from lens_engine.classifier.classifier import Classifier

Part = Literal["support-examples", "result", "classifier"]


class FoundClassifier(NamedTuple):
    version: Version
    classifier: Classifier


class Finder(Protocol):
    """Finds what production reads of one selection, or of one prompt."""

    @property
    def services(self) -> Services: ...

    @property
    def owner_id(self) -> str: ...

    def find_version(self, session: Session, part: Part) -> Version | None:
        """Which version of a part there is, without reading the part; None if there is none."""

    def read(self, session: Session, *, has_ended: bool = False) -> Answers:
        """The answers.

        Args:
            has_ended: whether the best so far of a selection that runs is refused.

        Raises:
            NotFound: the owner has no such selection or prompt.
            NotFinished: the selection has no answers yet.
            NoResult: the selection ended without a result.
        """

    def read_classifier(self, session: Session) -> FoundClassifier:
        """The classifier to use.

        Raises:
            NoClassifier: the result has none.
            NotFound, NotFinished, NoResult: as `read`.
        """


def answer_known(finder: Finder, session: Session, if_none_match: str | None, name: str, part: Part) -> Response | None:
    """The answer 304 to a client that has the current version of a part; None for another client."""
    version = None if if_none_match is None else finder.find_version(session, part)
    if version is None or not is_known(if_none_match, etag := version.etag(name)):
        return None
    return answer_unchanged(etag, version.headers)


async def render(finder: Finder, indexes: Indexes, body: RenderBody) -> Rendered:
    """The prompts for the inputs of a body.

    Raises:
        NoClassifier: the prompts of a classifier are asked for, and there is none that reads them alone.
        NotFound, NotFinished, NoResult: as `Finder.read`.
    """

    def read() -> tuple[Answers, Classifier | None]:
        with finder.services.database.session_scope() as session:
            is_classifier = body.prompts == "classifier"
            answers = finder.read(session, has_ended=is_classifier)
            return answers, answers.read_classifier(session) if is_classifier else None

    while True:
        answers, classifier = await run_in_threadpool(read)
        with suppress(Superseded):
            pool = await answers.fetch_pool(indexes, body.use) if classifier is None else None
            return await run_in_threadpool(answers.render, body, classifier, pool)
