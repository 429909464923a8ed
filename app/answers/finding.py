"""How answers are found, of a selection or of a prompt, and which version of them there is."""

from typing import Literal, NamedTuple, Protocol

from fastapi import Response
from sqlalchemy.orm import Session

from app.answers.answers import Answers, Version
from app.services import Services
from app.web.etag import REVALIDATED, answer_unchanged, is_known
from lens_engine.classifier.classifier import Classifier, InputFormat

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

    @property
    def path(self) -> str:
        """Of the selection or prompt in the API."""

    def find_version(self, session: Session, part: Part) -> Version | None:
        """Which version of a part there is, without reading the part; None if there is none."""

    def read(self, session: Session) -> Answers:
        """The answers.

        Raises:
            NotFound: the owner has no such selection or prompt.
            NotFinished: the selection has not ended.
            NoResult: the selection ended without a result.
        """

    def find_input(self, session: Session) -> InputFormat | None:
        """How the file of the selection was written; None if that is not known."""

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
    return answer_unchanged(etag, REVALIDATED)
