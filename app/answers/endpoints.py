"""Routes of what production reads: the same for a selection, and for the prompt that keeps a copy of its result."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from app.answers import finding
from app.answers.answers import Answers
from app.answers.finding import Finder, answer_known
from app.answers.indexes import IndexesDep, Superseded
from app.answers.schemas import RenderBody, Rendered, refuse_blank
from app.dependencies import OWNER_ROUTE, OwnerDep, PathDep, ServicesDep
from app.services import Services
from app.web.etag import KnownEtag, answer_with_etag
from app.web.openapi import named, not_modified, refusals, sends
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier
from lens_engine.config import Use
from lens_engine.exports import FORMATS, ExportName
from lens_engine.exports.folder import ZIP_TYPE

MOST_INPUT_CHARACTERS = 1_000
"""Of an input in an address, of which proxies take 16 KiB: a character may be written with 12 bytes."""

UseParameter = Annotated[
    Use | None, Query(description="Use for which the prompt is the best; default: that of the selection.")
]
InputParameter = Annotated[
    str | None,
    Query(
        max_length=MOST_INPUT_CHARACTERS,
        description="Text whose demonstrations are shown as well. A longer one is sent to `render`.",
        examples=["The plot never gets going."],
    ),
    AfterValidator(lambda text: None if text is None else refuse_blank(text)),
]
FormatParameter = Annotated[ExportName, Query(description="Form of the file.")]
RenderBodyDep = Annotated[RenderBody, Depends(json_body(RenderBody, is_stored=False))]

_RENDER_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": named(RenderBody)}}}
}

_MEDIA_TYPES = sorted({ZIP_TYPE, *(one.media_type.partition(";")[0] for one in FORMATS.values())})
_EXPORTED: dict[str, Any] = {
    "description": "The file.",
    "content": {one: {"schema": {"type": "string"} if one.startswith("text/") else {}} for one in _MEDIA_TYPES},
    **sends(
        *("ETag", "Content-Disposition"),
        *("X-Format-Matches-Evaluation", "X-Format-Accuracy", "X-Prompt-Form", "X-Prompt-Accuracy"),
    ),
}


class Operation(NamedTuple):
    """One of the routes in the OpenAPI document."""

    name: str
    conflict: str | None = None  #: what 409 means


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, about which selection or prompt, and which version of the answer he has."""

    services: ServicesDep
    owner: OwnerDep
    asked: PathDep
    if_none_match: KnownEtag = None


CallerDep = Annotated[Caller, Depends()]


class AnswerRoutes:
    """The routes of what has answers: selections, or prompts. The docstring of a method describes its route.

    Args:
        find: finds answers, from services, owner, and the id or name in the path.
        path: of one selection or prompt.
        path_reader: dependency that checks the id or name in the path.
        operations: by the last part of the path.
        is_brief: whether a conflict ends by itself.
    """

    def __init__(
        self,
        find: Callable[[Services, str, str], Finder],
        answers: type[Answers],
        path: str,
        path_reader: Any,
        operations: Mapping[str, Operation],
        *,
        is_brief: bool = False,
    ) -> None:
        self._find, self._operations, self._is_brief = find, operations, is_brief
        dependencies = [*OWNER_ROUTE, path_reader]
        self.router = APIRouter(prefix=path, tags=[path.split("/")[1]], dependencies=dependencies)
        reads = {200: sends("ETag"), **not_modified()}
        self._add(
            "support-examples",
            self.get_support_examples,
            reads,
            response_model=answers.support_examples_type,
            response_description="The support examples; of a selection that runs, the best so far.",
        )
        self._add(
            "classifier",
            self.get_classifier,
            reads,
            response_model=Classifier,
            response_description="The classifier.",
        )
        self._add("export", self.export_support_examples, {**reads, 200: _EXPORTED}, response_class=Response)
        self._add(
            "render",
            self.render_prompt,
            refusals(413, 415, 422),
            methods=["POST"],
            response_model=answers.prompts_type,
            response_description="The prompts of each input.",
            openapi_extra=_RENDER_BODY,
        )

    async def get_support_examples(
        self, caller: CallerDep, indexes: IndexesDep, use: UseParameter = None, input: InputParameter = None
    ) -> Response:
        """Return the support examples in order, their prompt, label biases, and how good they are.

        With `input`, also the demonstrations of this text, where the form of the prompt finds some for each.
        """
        name = f"support-examples-{use}-{input}"
        while True:
            answers = await run_in_threadpool(self._read, caller, name)
            if isinstance(answers, Response):
                return answers
            with suppress(Superseded):
                pool = None if input is None else await answers.fetch_pool(indexes, use)
                shown = await run_in_threadpool(answers.show, use, input, pool)
                return answer_with_etag(answers.version.etag(name), shown, answers.version.headers)

    def get_classifier(self, caller: CallerDep) -> Response:
        """Return the classifier to use: prompts, and a head on what the model says after them.

        It is the cheapest candidate within a standard error of the best. Saved as `classifier.json`, the body is a
        file that `Classifier.load` of the library reads.
        """
        finder = self._finder(caller)
        with caller.services.database.session_scope() as session:
            known = answer_known(finder, session, caller.if_none_match, "classifier", "classifier")
            if known is not None:
                return known
            version, classifier = finder.read_classifier(session)
        return answer_with_etag(version.etag("classifier"), classifier, version.headers)

    def export_support_examples(
        self, caller: CallerDep, format: FormatParameter = "json", use: UseParameter = None
    ) -> Response:
        """Return the support examples as a file that another tool loads.

        `text` and `json` give a model the prompt that was evaluated. Others do not:
        `X-Format-Matches-Evaluation` is `null` until an evaluation of this `form` judged the test rows. Then it says
        whether all answers are the same, and `X-Format-Accuracy` how often they are right.

        `folder` is a ZIP archive that renders the prompt of each input. Where the best prompt finds demonstrations for
        each input, the other formats have its fixed form: `X-Prompt-Form` is `fixed`, and `X-Prompt-Accuracy` its
        accuracy.
        """
        with caller.services.database.session_scope() as session:
            export = self._finder(caller).read(session, has_ended=True).prepare_export(format, use)
            measured = export.find_measured(session, caller.owner)
        return export.answer(caller.if_none_match, measured)

    async def render_prompt(
        self, asked: PathDep, body: RenderBodyDep, indexes: IndexesDep, owner: OwnerDep, services: ServicesDep
    ) -> Rendered:
        """Build the prompt of the support examples for each new input, or every prompt of the classifier.

        Where the form of the prompt finds demonstrations for each input, each prompt says which. While a selection
        runs, these are the prompts of the best so far.

        To classify with the support examples: let the model score each label word after the prompt, add the label
        biases if the use is `probabilities`, and take the likeliest. The prompts of a classifier need its head too.
        """
        return await finding.render(self._find(services, owner, asked), indexes, body)

    def _add(
        self, part: str, endpoint: Callable[..., Any], responses: Mapping[int | str, dict[str, Any]], **about: Any
    ) -> None:
        """Add the route with this last part of the path, and these responses besides those of every route."""
        name, conflict = self._operations[part]
        is_brief = conflict is not None and self._is_brief
        refused = refusals(400, 401, 404, 503, conflict=conflict, is_conflict_brief=is_brief)
        self.router.add_api_route(
            f"/{part}",
            endpoint,
            name=name,
            description=inspect.getdoc(endpoint),
            responses={**responses, **refused},
            **about,
        )

    def _finder(self, caller: Caller) -> Finder:
        return self._find(caller.services, caller.owner, caller.asked)

    def _read(self, caller: Caller, name: str) -> Answers | Response:
        """The answers, or 304 without reading them."""
        finder = self._finder(caller)
        with caller.services.database.session_scope() as session:
            known = answer_known(finder, session, caller.if_none_match, name, "support-examples")
            return known or finder.read(session)
