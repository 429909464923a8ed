"""Decisions about prompts. SQL is in `app/store/prompts.py`, HTTP in the endpoints."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from app.answers import results
from app.answers.answers import ClassifierPart, PromptPart
from app.errors import ContentTooLarge, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable
from app.prompts import pools
from app.prompts.finding import known_prompt
from app.prompts.pools import Changes
from app.prompts.schemas import PromptBody, PromptSummary, PromptVersionOut
from app.selections import service as selections
from app.store import prompts as repository
from app.store.datasets import count_rows
from app.store.quota import check_bytes, lock_owner
from app.store.services import Services
from app.store.tables import Prompt, PromptContent, PromptVersion, StoredClassifier
from app.web.parameters import matches, version_etag
from lens_engine.classifier.classifier import Classifier
from lens_engine.result import SelectionResult

_OF_VERSION = ("name", "version", "selection_id", "note", "key_name", "created_at")

MOST_NAMES = 1000
"""Number of names that one owner may have."""

MOST_VERSIONS = 10_000
"""Number of versions that one name may have: the history is never cut."""


@dataclass(frozen=True, slots=True)
class Condition:
    """On which version of a prompt a change is made, so that of two writers at once one wins."""

    if_match: str | None
    if_none_match: str | None

    def check(self, prompt: Prompt) -> None:
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
            raise PreconditionFailed(f"the name has version {prompt.version} by now; look, and send its quoted `ETag`")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a prompt, and who makes it."""

    services: Services
    owner_id: str
    name: str
    condition: Condition
    key_name: str | None

    def put(self, body: PromptBody) -> PromptVersion:
        """Make a version of what the body names. What the current version has already makes none."""
        with self.services.database.session_scope() as session:
            # Before the lock of the name, so that no two requests wait for each other.
            lock_owner(session, self.owner_id, self.services.settings)
            prompt = repository.lock_name(session, self.owner_id, self.name)
            self.condition.check(prompt)
            if prompt.is_deleted and repository.count_names(session, self.owner_id) >= MOST_NAMES:
                raise ContentTooLarge(
                    f"you have {MOST_NAMES:,} names, and no more are allowed; delete one", code="owner-full"
                )
            new = self._read(session, body)
            current = repository.find_current(session, self.owner_id, self.name)
            before = pools.list_changes(session, self.owner_id, self.name, prompt.version)
            if current is not None and new.is_like(current, before):
                return current
            return self.add(session, prompt, new, before, body.note)

    def add(
        self, session: Session, prompt: Prompt, new: "NextVersion", before: Changes, note: str | None
    ) -> PromptVersion:
        """Add a version of a locked prompt. `before`: changes of the pool in the version before."""
        if prompt.version >= MOST_VERSIONS:
            raise ContentTooLarge(
                f"the name has had {MOST_VERSIONS:,} versions, the most that it may have; take a new name, and let "
                "production read it",
                code="owner-full",
            )
        pool_rows = pools.count_rows(session, prompt, new.content.pool_digest, new.changes)
        summary = {**new.summary, "pool_rows": pool_rows}
        about = {"selection_id": new.selection_id, "summary": summary, "note": note, "key_name": self.key_name}
        version = repository.add_version(session, prompt, new.content, **about)
        pools.write_changes(session, prompt, before, new.changes)
        check_bytes(session, self.owner_id, self.services.settings)
        return version

    def delete(self) -> None:
        """Delete the contents of all versions. The history stays, for a prompt that is made anew with this name."""
        with self.services.database.session_scope() as session:
            prompt = repository.lock_name(session, self.owner_id, self.name)
            self.condition.check(prompt)
            known_prompt(None if prompt.is_deleted else prompt, self.name)
            repository.add_version(session, prompt, None, summary={}, key_name=self.key_name)
            repository.delete_contents(session, self.owner_id, self.name)
            pools.delete_pools(session, self.owner_id, self.name)

    def _read(self, session: Session, body: PromptBody) -> "NextVersion":
        if body.version is not None:
            found = repository.find_content(session, self.owner_id, self.name, body.version)
            if found is None:
                raise Unprocessable.at(
                    "/version", "the name has no such version, or it was deleted since", code="unknown-version"
                )
            version, content = found
            assert version.selection_id is not None
            changes = pools.list_changes(session, self.owner_id, self.name, body.version)
            summary = {**version.summary, "added": 0, "taken_out": 0}
            return NextVersion(version.selection_id, summary, content, changes)
        return self._copy(session, body.selection_id or "")

    def _copy(self, session: Session, selection_id: str) -> "NextVersion":
        selection = selections.find_locked(session, self.owner_id, selection_id)
        if selection is None:
            raise Unprocessable.at("/selection_id", "there is no selection with this id", code="unknown-selection")
        report = results.get_report(self.services, session, self.owner_id, selection_id)
        stored = session.get(StoredClassifier, selection_id)
        classifier = None if stored is None else stored.classifier
        part = PromptPart.model_validate(report.result)
        result = part.model_dump(mode="json")
        num_rows = count_rows(session, selection.dataset_id)
        pool = pools.copy_pool(session, self.owner_id, self.name, selection_id, num_rows)
        digest = hashlib.sha256(json.dumps([result, classifier, pool], sort_keys=True).encode()).hexdigest()
        made = None if classifier is None else ClassifierPart.model_validate(classifier)
        content = PromptContent(digest=digest, result=result, classifier=classifier, pool_digest=pool)
        return NextVersion(selection_id, summarise(part, made, selection.figures).model_dump(), content)


@dataclass(frozen=True, slots=True)
class NextVersion:
    """What the next version of a prompt keeps."""

    selection_id: str
    summary: dict[str, Any]  #: without the number of rows of the pool, which are counted
    content: PromptContent
    changes: Changes = field(default_factory=dict)  #: of the pool

    def is_like(self, version: PromptVersion, changes: Changes) -> bool:
        own = (self.content.digest, self.selection_id, dict(self.changes))
        return own == (version.digest, version.selection_id, dict(changes))


def get(session: Session, owner_id: str, name: str) -> PromptVersion:
    """Return the current version of a name."""
    return known_prompt(repository.find_current(session, owner_id, name), name)


def present(version: PromptVersion) -> PromptVersionOut:
    """Build the API's view of a version."""
    own = {name: getattr(version, name) for name in _OF_VERSION}
    return PromptVersionOut(**own, **version.summary, warning=_warn_of_classifier(version))


def _warn_of_classifier(version: PromptVersion) -> str | None:
    """That a change of the pool does not change the answers, where they are not those of the prompt."""
    summary = version.summary
    if summary.get("first") == "prompt" or not (summary.get("added") or summary.get("taken_out")):
        return None
    return (
        f"the answers of {version.name} come from its classifier, which examples do not change; ask `…/classify` with "
        "`prompts` set to `support_examples`, or run a selection with the corrected rows"
    )


def summarise(
    result: PromptPart | SelectionResult,
    classifier: ClassifierPart | Classifier | None,
    figures: Sequence[Mapping[str, Any]] | None,
) -> PromptSummary:
    """What lists show of a result. `figures`: of the row of its selection."""
    answer, expected = result.answer_for(None), {one["kind"]: one["expected"] for one in figures or ()}
    head = None if classifier is None else classifier.head.kind
    own = expected.get("words" if head == "bag_of_words" else "classifier") if head else None
    prompt = expected.get("prompt")
    return PromptSummary(
        model=result.provenance.model,
        accuracy=prompt and prompt["accuracy"],
        first=result.first,
        form=answer.form.name,
        head=head,
        classifier_accuracy=own and own["accuracy"],
        largest_class=next((one["largest_class"] for one in expected.values()), None),
    )
