"""On which version of a name a change is made, so that of two writers at once one wins."""

from dataclasses import dataclass

from app.errors import NotFound, PreconditionFailed, PreconditionRequired
from app.store.tables import Prompt
from app.web.etag import matches, version_etag


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
