"""Routes of what production reads of a selection: support examples and prompts, also while it runs."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from starlette.concurrency import run_in_threadpool

from app.dependencies import OWNER_ROUTE, OwnerDep, SelectionIdDep, ServicesDep
from app.selections import openapi
from app.selections.answers import Answers
from app.selections.finding import Answering, Reader
from app.selections.indexes import IndexesDep
from app.selections.parameters import InputParameter, RenderBodyDep, UseParameter
from app.selections.rendering import Rendered
from app.selections.schemas import SupportExamplesOut
from app.web.etag import KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=OWNER_ROUTE)

_NO_EXAMPLES = "The selection has chosen no examples yet, or it ended without a result."
_NO_PROMPT = f"{_NO_EXAMPLES} Or the classifier was asked for, and there is none; `detail` says how to get one."
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: sends("ETag"),
    **not_modified(),
    **refusals(400, 401, 404, 503, conflict=_NO_EXAMPLES, is_conflict_brief=True),
}


@dataclass(frozen=True, slots=True)
class FoundAnswers:
    """Answers, and the ETag of what is made of them."""

    etag: str
    answering: Answering
    answers: Answers


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks what a selection answers, and which version of it he has."""

    selection_id: SelectionIdDep
    owner: OwnerDep
    services: ServicesDep
    if_none_match: KnownEtag = None

    @property
    def reader(self) -> Reader:
        return Reader(self.services, self.owner, self.selection_id)

    def find_answers(self, name: str) -> "Response | FoundAnswers":
        """The answers of a selection that has ended or runs, or 304 without reading them."""
        with self.services.database.session_scope() as session:
            answering = self.reader.look(session)
            etag = make_etag(name, *answering.version)
            if is_known(self.if_none_match, etag):
                return answer_unchanged(etag, answering.headers)
            return FoundAnswers(etag, answering, self.reader.read(session))


AskedDep = Annotated[Asked, Depends()]


@router.get(
    "/{selection_id}/support-examples",
    response_model=SupportExamplesOut,
    response_description="The support examples: of a selection that runs, the best so far; those of an ended one "
    "change only by a resume.",
    responses=_ANSWERS,
)
async def get_support_examples(
    asked: AskedDep, indexes: IndexesDep, use: UseParameter = None, input: InputParameter = None
) -> Response:
    """Return the support examples in order, their prompt, label biases, and how good they are.

    With `input`, also the demonstrations of this text, where the form of the prompt finds some for each.
    """
    found = await run_in_threadpool(asked.find_answers, f"support-examples-{use}-{input}")
    if isinstance(found, Response):
        return found
    pool = None if input is None else await found.answers.fetch_pool(indexes, use)
    shown = await run_in_threadpool(found.answers.show, use, input, pool)
    return answer_with_etag(found.etag, shown, found.answering.headers)


@router.post(
    "/{selection_id}/render",
    response_description="The prompts of each input.",
    responses=refusals(*(400, 401, 404, 413, 415, 422, 503), conflict=_NO_PROMPT, is_conflict_brief=True),
    openapi_extra=openapi.RENDER_BODY,
)
async def render_prompt(
    selection_id: SelectionIdDep, body: RenderBodyDep, indexes: IndexesDep, owner: OwnerDep, services: ServicesDep
) -> Rendered:
    """Build the prompt of the support examples for each new input, or every prompt of the classifier.

    Where the form of the prompt finds demonstrations for each input, each prompt says which. While the selection runs,
    these are the prompts of the best so far.

    To classify with the support examples: let the model score each label word after the prompt, add the label biases if
    the use is `probabilities`, and take the likeliest. The prompts of a classifier need its head too.
    """
    return await Reader(services, owner, selection_id).render(indexes, body)
