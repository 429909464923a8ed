"""Decisions about names. SQL is in the repository, HTTP in the endpoints."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from app.errors import (
    NoClassifier,
    NotFound,
    OwnerFull,
    PreconditionFailed,
    PreconditionRequired,
    UnknownSelection,
    UnknownVersion,
)
from app.jobs import repository as jobs
from app.lifecycle.quota import check_bytes, lock_owner
from app.models import Prompt, PromptContent, PromptVersion
from app.prompts import repository
from app.prompts.schemas import PromptBody, PromptSummary
from app.selections import service as selection_service
from app.selections.answers import READ_BY_PRODUCTION, Answers, read_accuracy
from app.services import Services
from app.web.etag import matches, version_etag
from lens_engine.classifier.classifier import Classifier

_Found = TypeVar("_Found")

MOST_NAMES = 1000
"""Number of names that one owner may have."""

MOST_VERSIONS = 10_000
"""Number of versions that one name may have: the history is never cut."""

WARNED_FROM = 9_000
"""Number of versions from which on answers warn of the last one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """On which version of a name a change may be made."""

    if_match: str | None
    if_none_match: str | None

    def check(self, prompt: Prompt) -> None:
        """
        Raises:
            PreconditionRequired: the client does not say which version it changes.
            NotFound: there is no such name.
            PreconditionFailed: the name has another version, or exists and shall be new.
        """
        is_new = self.if_none_match is not None and self.if_none_match.strip() == "*"
        if self.if_match is None and not is_new:
            raise PreconditionRequired(
                'say which version you change: `If-Match: "7"`, as `ETag` of GET has it, or `If-None-Match: *` for a '
                "new name"
            )
        if self.if_match is None:
            if not prompt.is_deleted:
                raise PreconditionFailed(f"the name exists, with version {prompt.version}; send `If-Match`")
        elif prompt.is_deleted:
            raise NotFound("there is no prompt with this name; a new one takes `If-None-Match: *`")
        elif not matches(self.if_match, version_etag(prompt.version)):
            raise PreconditionFailed(f"the name has version {prompt.version} by now; look at it, and send its `ETag`")


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
            if prompt.version >= MOST_VERSIONS:
                raise OwnerFull(
                    f"the name has had {MOST_VERSIONS:,} versions, the most that it may have; take a new name, and let "
                    "production read it"
                )
            selection_id, summary, content = self._read(session, body)
            current = repository.find_current(session, self.owner_id, self.name)
            if current is not None and (current.digest, current.selection_id) == (content.digest, selection_id):
                return current
            about = {"selection_id": selection_id, "summary": summary, "note": body.note, "key_name": self.key_name}
            version = repository.add_version(session, prompt, content, **about)
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

    def _read(self, session: Session, body: PromptBody) -> tuple[str, dict[str, Any], PromptContent]:
        """Selection, summary and content of the new version."""
        if body.version is not None:
            found = repository.find_content(session, self.owner_id, self.name, body.version)
            if found is None:
                raise UnknownVersion.at("/version", "the name has no such version, or it was deleted since")
            assert found[0].selection_id is not None
            return found[0].selection_id, found[0].summary, found[1]
        return self._copy(session, body.selection_id or "")

    def _copy(self, session: Session, selection_id: str) -> tuple[str, dict[str, Any], PromptContent]:
        if jobs.lock_job(session, self.owner_id, "selection", selection_id) is None:
            raise UnknownSelection.at("/selection_id", "there is no selection with this id")
        report = selection_service.get_report(self.services, session, self.owner_id, selection_id)
        stored = jobs.find_classifier(session, selection_id)
        classifier = None if stored is None else stored.classifier
        result = {name: report.result.get(name) for name in READ_BY_PRODUCTION}
        content = PromptContent(digest=_digest(result, classifier), result=result, classifier=classifier)
        return selection_id, _summarise(report.result, classifier), content


@dataclass(frozen=True, slots=True)
class NamedAnswers:
    """What a version of a name says."""

    version: PromptVersion
    answers: Answers
    classifier: dict[str, Any] | None

    @property
    def about(self) -> dict[str, Any]:
        return {"name": self.version.name, "version": self.version.version}

    def get_classifier(self) -> Classifier:
        """
        Raises:
            NoClassifier: the result had no classifier.
        """
        if self.classifier is None:
            raise NoClassifier("the selection of this version made no classifier; promote one that has a classifier")
        return Classifier.model_validate(self.classifier)


def read(session: Session, owner_id: str, name: str) -> NamedAnswers:
    """Return what the current version of a name says.

    Raises:
        NotFound: there is no such name.
    """
    version, content = _found(repository.read_current(session, owner_id, name))
    answers = Answers(version.selection_id or "", f"/prompts/{name}", content.result, version.summary.get("model"))
    return NamedAnswers(version, answers, content.classifier)


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


def _digest(result: Mapping[str, Any], classifier: Mapping[str, Any] | None) -> str:
    return hashlib.sha256(json.dumps([result, classifier], sort_keys=True).encode()).hexdigest()


def _summarise(result: Mapping[str, Any], classifier: Mapping[str, Any] | None) -> dict[str, Any]:
    answer = (result.get("support_examples") or [{}])[0]
    head, test = (None, None) if classifier is None else (classifier["head"]["kind"], classifier["test"])
    return PromptSummary(
        model=(result.get("provenance") or {}).get("model"),
        accuracy=read_accuracy(answer, answer.get("use", "prompt")),
        recommended=answer.get("recommended"),
        head=head,
        classifier_accuracy=None if test is None else test["accuracy"],
    ).model_dump()
