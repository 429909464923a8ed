"""Finds what production reads of a prompt: the content of its current version."""

from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from app.answers.answers import Answers, ClassifierPart, PromptPart, Version
from app.errors import Conflict, NotFound
from app.prompts.pools import VersionedPool, find_pool
from app.store import prompts as repository
from app.store.services import Services
from app.store.tables import PromptContent, PromptVersion
from lens_engine.classifier.classifier import Classifier, InputFormat

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """The current version of a prompt, with its content."""

    version: PromptVersion
    content: PromptContent
    pool: VersionedPool | None  #: None where the prompt finds no examples for an input

    @property
    def about(self) -> dict[str, Any]:
        return {"name": self.version.name, "version": self.version.version}

    @property
    def answers(self) -> Answers:
        return Answers(
            Version(of_prompt=self.version.version),
            {"selection_id": self.version.selection_id or "", **self.about},
            PromptPart.model_validate(self.content.result),
            lambda _: self.get_classifier(),
            None if self.pool is None else self.pool.source,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return PromptPart.model_validate(self.content.result).task.labels

    def get_classifier(self) -> Classifier:
        if self.content.classifier is None:
            raise Conflict(
                "the selection of this version made no classifier; promote one that has a classifier",
                code="no-classifier",
            )
        return Classifier.model_validate(self.content.classifier)


@dataclass(frozen=True, slots=True)
class PromptFinder:
    """Finds what one prompt keeps. See `Finder`."""

    services: Services
    owner_id: str
    name: str

    @property
    def path(self) -> str:
        return f"/prompts/{self.name}"

    def find_version(self, session: Session) -> Version | None:
        version = repository.find_version(session, self.owner_id, self.name)
        return None if version is None else Version(of_prompt=version)

    def read(self, session: Session) -> Answers:
        return self.read_current(session).answers

    def find_input(self, session: Session) -> InputFormat | None:
        stored = self.read_current(session).content.classifier
        return None if stored is None else ClassifierPart.model_validate(stored).input

    def read_current(self, session: Session) -> CurrentVersion:
        version, content = known_prompt(repository.read_current(session, self.owner_id, self.name), self.name)
        return CurrentVersion(version, content, find_pool(self.services, content, version))


def known_prompt(found: _Found | None, name: str) -> _Found:
    if found is None:
        raise NotFound(
            f"there is no prompt {name!r}; PUT /prompts/{name} makes one, GET /prompts lists those there are"
        )
    return found
