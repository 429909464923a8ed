"""Decisions about names. SQL is in the repository, HTTP in the endpoints."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from app.errors import (
    NoClassifier,
    NotFound,
    OwnerFull,
    UnknownSelection,
    UnknownVersion,
)
from app.jobs import repository as jobs
from app.prompts import pools
from app.prompts.condition import Condition
from app.prompts.pools import Changes, VersionedPool
from app.prompts.schemas import PromptBody, PromptSummary
from app.selections import service as selection_service
from app.selections.answers import Answers
from app.selections.stored import ClassifierPart, PromptPart
from app.services import Services
from app.store import prompts as repository
from app.store.datasets import count_rows
from app.store.quota import check_bytes, lock_owner
from app.store.tables import Prompt, PromptContent, PromptVersion
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat

_Found = TypeVar("_Found")

MOST_NAMES = 1000
"""Number of names that one owner may have."""

MOST_VERSIONS = 10_000
"""Number of versions that one name may have: the history is never cut."""

WARNED_FROM = 9_000
"""Number of versions from which on answers warn of the last one."""


@dataclass(frozen=True, slots=True)
class Change:
    """Who changes a name."""

    services: Services
    owner_id: str
    name: str
    condition: Condition
    key_name: str | None

    def put(self, body: PromptBody) -> PromptVersion:
        """Make a version that says what the body names. What the name says already makes no version.

        Raises:
            UnknownSelection, UnknownVersion: the body names a selection or version that there is not.
            NotFinished, NoResult: the selection has no result.
            OwnerFull: the owner has too many names, or too many bytes stored.
            PreconditionRequired, PreconditionFailed, NotFound: as `Condition.check`.
        """
        with self.services.database.session_scope() as session:
            # Before the lock of the name, so that no two requests wait for each other.
            lock_owner(session, self.owner_id, self.services.settings)
            prompt = repository.lock_name(session, self.owner_id, self.name)
            self.condition.check(prompt)
            if prompt.is_deleted and repository.count_names(session, self.owner_id) >= MOST_NAMES:
                raise OwnerFull(f"you have {MOST_NAMES:,} names, and no more are allowed; delete one")
            said = self._read(session, body)
            current = repository.find_current(session, self.owner_id, self.name)
            before = pools.list_changes(session, self.owner_id, self.name, prompt.version)
            if current is not None and said.is_said_by(current, before):
                return current
            return self.add(session, prompt, said, before, body.note)

    def add(self, session: Session, prompt: Prompt, said: "Said", before: Changes, note: str | None) -> PromptVersion:
        """Add a version of a locked name.

        Args:
            before: changes of the pool in the version before.

        Raises:
            OwnerFull: the name has too many versions, or the owner too many bytes stored.
        """
        if prompt.version >= MOST_VERSIONS:
            raise OwnerFull(
                f"the name has had {MOST_VERSIONS:,} versions, the most that it may have; take a new name, and let "
                "production read it"
            )
        about = {"selection_id": said.selection_id, "summary": said.summary, "note": note, "key_name": self.key_name}
        version = repository.add_version(session, prompt, said.content, **about)
        pools.write_changes(session, prompt, before, said.changes)
        check_bytes(session, self.owner_id, self.services.settings)
        return version

    def delete(self) -> None:
        """Delete what the name said in all versions. Its history stays for a name that is made anew.

        Raises:
            PreconditionRequired, PreconditionFailed, NotFound: as `Condition.check`.
        """
        with self.services.database.session_scope() as session:
            prompt = repository.lock_name(session, self.owner_id, self.name)
            self.condition.check(prompt)
            _found(None if prompt.is_deleted else prompt)
            repository.add_version(session, prompt, None, summary={}, key_name=self.key_name)
            repository.delete_contents(session, self.owner_id, self.name)
            pools.delete_pools(session, self.owner_id, self.name)

    def _read(self, session: Session, body: PromptBody) -> "Said":
        if body.version is not None:
            found = repository.find_content(session, self.owner_id, self.name, body.version)
            if found is None:
                raise UnknownVersion.at("/version", "the name has no such version, or it was deleted since")
            version, content = found
            assert version.selection_id is not None
            changes = pools.list_changes(session, self.owner_id, self.name, body.version)
            summary = {**version.summary, "added": 0, "taken_out": 0}
            return Said(version.selection_id, summary, content, changes)
        return self._copy(session, body.selection_id or "")

    def _copy(self, session: Session, selection_id: str) -> "Said":
        selection = jobs.lock_job(session, self.owner_id, "selection", selection_id)
        if selection is None:
            raise UnknownSelection.at("/selection_id", "there is no selection with this id")
        report = selection_service.get_report(self.services, session, self.owner_id, selection_id)
        stored = jobs.find_classifier(session, selection_id)
        classifier = None if stored is None else stored.classifier
        part = PromptPart.model_validate(report.result)
        result = part.model_dump(mode="json")
        num_rows = count_rows(session, selection.dataset_id)
        pool = pools.copy_pool(session, self.owner_id, self.name, selection_id, num_rows)
        digest = _digest(result, classifier, pool and pool.digest)
        content = PromptContent(digest=digest, result=result, classifier=classifier, pool_digest=pool and pool.digest)
        summary = _summarise(part, classifier, pool and pool.num_rows)
        return Said(selection_id, summary, content)


@dataclass(frozen=True, slots=True)
class Said:
    """What a version of a name shall say."""

    selection_id: str
    summary: dict[str, Any]
    content: PromptContent
    changes: Changes = field(default_factory=dict)  #: of the pool

    def is_said_by(self, version: PromptVersion, changes: Changes) -> bool:
        own = (self.content.digest, self.selection_id, dict(self.changes))
        return own == (version.digest, version.selection_id, dict(changes))


@dataclass(frozen=True, slots=True)
class NamedAnswers:
    """What a version of a name says."""

    version: PromptVersion
    content: PromptContent
    answers: Answers
    pool: VersionedPool | None

    @property
    def about(self) -> dict[str, Any]:
        return {"name": self.version.name, "version": self.version.version}

    def get_classifier(self) -> Classifier:
        """
        Raises:
            NoClassifier: the result had no classifier.
        """
        if self.content.classifier is None:
            raise NoClassifier("the selection of this version made no classifier; promote one that has a classifier")
        return Classifier.model_validate(self.content.classifier)

    def find_input(self) -> InputFormat | None:
        """How the file of the selection was written; None if that is not known."""
        stored = self.content.classifier
        return None if stored is None else ClassifierPart.model_validate(stored).input


def read(services: Services, session: Session, owner_id: str, name: str) -> NamedAnswers:
    """Return what the current version of a name says.

    Raises:
        NotFound: there is no such name.
    """
    version, content = _found(repository.read_current(session, owner_id, name))
    pool = pools.find_pool(services, content, version)
    part, path = PromptPart.model_validate(content.result), f"/prompts/{name}"
    answers = Answers(version.selection_id or "", path, part, None if pool is None else pool.source)
    return NamedAnswers(version, content, answers, pool)


def get(session: Session, owner_id: str, name: str) -> PromptVersion:
    """Return the current version of a name.

    Raises:
        NotFound: there is no such name.
    """
    return _found(repository.find_current(session, owner_id, name))


def warn_of_last(version: int) -> str | None:
    """What to say of a name that comes near to its last version; None before."""
    if version < WARNED_FROM:
        return None
    return (
        f"the name has {version:,} of at most {MOST_VERSIONS:,} versions; before the last one, PUT a new name that "
        "says the same, and let production read the new name"
    )


def _found(value: _Found | None) -> _Found:
    if value is None:
        raise NotFound("there is no prompt with this name; PUT /prompts/{name} makes one")
    return value


def _digest(result: Mapping[str, Any], classifier: Mapping[str, Any] | None, pool: str | None) -> str:
    return hashlib.sha256(json.dumps([result, classifier, pool], sort_keys=True).encode()).hexdigest()


def _summarise(result: PromptPart, classifier: Mapping[str, Any] | None, pool_rows: int | None) -> dict[str, Any]:
    answer, made = result.answer_for(None), None if classifier is None else ClassifierPart.model_validate(classifier)
    test = None if made is None else made.test
    tested = test or answer.test
    return PromptSummary(
        model=result.provenance.model,
        accuracy=None if answer.test is None else answer.test.accuracy,
        recommended=answer.recommended,
        form=answer.form.name,
        pool_rows=pool_rows,
        head=None if made is None else made.head.kind,
        classifier_accuracy=None if test is None else test.accuracy,
        largest_class=None if tested is None else tested.largest_class,
    ).model_dump()
