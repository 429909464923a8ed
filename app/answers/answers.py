"""What production reads of a finished run: what is stored and answered, and how a selection or a prompt finds it."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.answers.remote import weigh_pool
from app.answers.schemas import (
    Demonstration,
    ExpectedOut,
    RenderBody,
    Rendered,
    RenderedPrompt,
    ShownDemonstration,
    SupportExamplesOut,
)
from app.errors import NoResult
from app.held_values import HeldValues
from app.lifecycle.spec import StoredPart
from app.store.services import Services
from app.web.dependencies import read_state
from app.web.parameters import Unchanged, is_known, make_etag, version_etag
from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.classifier.classifier import Classifier, InputFormat
from lens_engine.classifier.heads import HeadKind
from lens_engine.config import Use
from lens_engine.prompt.pool import Found, Pool, PromptForm
from lens_engine.prompt.pool import RenderedPrompt as PromptOfInput
from lens_engine.prompt.record import TaskRecord
from lens_engine.result import Provenance, SupportExamples
from lens_engine.result.parts import find_renderer
from lens_engine.result.selection_result import PromptOfAnswer
from lens_engine.show.exports import Source
from lens_engine.types import Example, HeadlineKind

PoolKey = tuple[str, ...]
"""What a pool belongs to, and its version: equal keys have equal pools."""

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 2**18
"""Option of `mallopt`, and the size from which a block is one of the system's own (bytes)."""


@dataclass(frozen=True, slots=True)
class PoolSource:
    """Where the pool of a prompt is found."""

    key: PoolKey
    num_rows: int
    load: Callable[[], Pool]
    """Reads the pool in a transaction of its own.

    Raises:
        AppError: it was deleted meanwhile.
    """


class Indexes(HeldValues[PoolKey, Pool]):
    """The pools that were asked for last, as `HeldValues` holds them."""

    def __init__(self, most_bytes: int) -> None:
        # The allocator of glibc would keep free blocks of up to 32 MiB, for each thread; others have no such call.
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
        super().__init__(most_bytes, weigh_pool, "lens-index")

    async def find(self, source: PoolSource) -> Pool:
        """The pool with its index. Raises what `PoolSource.load` raises."""
        return await self.find_or_make(source.key, source.load)

    def load(self, source: PoolSource) -> Pool:
        """The pool without its index, which whoever looks at the rows need not keep alive."""
        held = self.held(source.key)
        return source.load() if held is None else copy(held)


IndexesDep = Annotated[Indexes, read_state("indexes", of_app=True)]


class PromptPart(StoredPart):
    """What production reads of a result. The names are those of `SelectionResult`."""

    partial: bool
    task: TaskRecord
    support_examples: tuple[SupportExamples, ...]
    first: HeadlineKind
    provenance: Provenance
    most_tokens: int | None = None
    opening_tokens: int = 0

    def answer_for(self, use: Use | None) -> SupportExamples:
        """As `SelectionResult.answer_for`."""
        return next((one for one in self.support_examples if use in (None, one.use)), self.support_examples[0])


class SuspiciousPart(StoredPart):
    """The rows of a result whose label may be wrong."""

    suspicious_labels: tuple[SuspiciousLabel, ...]


class HeadPart(StoredPart):
    """The kind of a head, without its coefficients."""

    kind: HeadKind


class RetrievalPart(StoredPart):
    """How demonstrations are found, without the rows."""

    form: PromptForm


class ClassifierPart(StoredPart):
    """A classifier without its prompts and coefficients."""

    head: HeadPart
    task: TaskRecord
    retrieval: RetrievalPart | None = None
    input: InputFormat | None


CHANGED = "the selection was changed or deleted meanwhile; look at it, and repeat the request"


@dataclass(frozen=True, slots=True)
class Version:
    """Which answers there are: what their ETags depend on."""

    of_selection: tuple[str, ...] = ()
    of_prompt: int | None = None  #: a prompt has one ETag for all its answers, which a client sends to change it

    def etag(self, name: str) -> str:
        """The ETag of the answer with this name."""
        return make_etag(name, *self.of_selection) if self.of_prompt is None else version_etag(self.of_prompt)


@dataclass(frozen=True, slots=True)
class Answers:
    """The support examples of a result, and the prompts for new inputs.

    Each method raises NoResult where the selection was changed meanwhile, so that its pool is gone.
    """

    version: Version
    about: Mapping[str, Any]  #: fields of each answer: the id of the selection, and what a prompt has besides
    result: PromptPart
    read_classifier: Callable[[Session], Classifier]  #: raises Conflict if the result has none
    pool: PoolSource | None = None  #: None where no prompt finds examples for an input

    async def fetch_pool(self, indexes: Indexes, use: Use | None) -> Pool | None:
        """The pool in which the prompt for a use finds examples; None for a fixed form."""
        source = self._find_pool(self.result.answer_for(use))
        return None if source is None else await indexes.find(source)

    def show(self, use: Use | None, text: str | None = None, pool: Pool | None = None) -> SupportExamplesOut:
        """The support examples for a use; None for the use that was asked for.

        Args:
            text: input whose demonstrations are shown as well.
            pool: of `fetch_pool`, for an input.
        """
        answer = self.result.answer_for(use)
        prompt, demonstrations = answer.prompt, None
        if text is not None:
            (beginning,) = find_renderer(self.result.task, answer, pool).begin([text])
            prompt = "".join(beginning.segments)
            shown = _list_shown(answer, beginning.found)
            demonstrations = [ShownDemonstration(**about, text=one.text) for one, about in shown]
        return SupportExamplesOut(
            **self._describe(answer),
            task=self.result.task,
            use=answer.use,
            method=answer.method,
            examples=answer.examples,
            prompt=prompt,
            demonstrations=demonstrations,
        )

    def export(self, use: Use | None) -> Source:
        """The support examples for a use, ready to be written in a format."""
        return Source.of_answer(self.result.task, self.result.answer_for(use), self.result.provenance.model)

    def make_classifier(self, use: Use | None, *, is_fixed: bool = False) -> tuple[Classifier, Use]:
        """The prompt for a use as a classifier, of any form, and its use.

        `is_fixed`: whether to take the prompt of fixed demonstrations, whatever form is the best.
        """
        result, best = self.result, self.result.answer_for(use)
        answer = best.plain if is_fixed else best
        source = self._find_pool(answer)
        pool = None if source is None else source.load()
        prompt = PromptOfAnswer(result.task, answer, result.provenance, pool, result.most_tokens, result.opening_tokens)
        return prompt.classifier(), answer.use

    def render(self, body: RenderBody, pool: Pool | None = None) -> Rendered:
        """The prompt for each input. `pool`: of `fetch_pool`."""
        inputs = body.inputs if body.inputs is not None else [body.input or ""]
        answer = self.result.answer_for(body.use)
        rendered = find_renderer(self.result.task, answer, pool).render(inputs)
        return Rendered(
            **self._describe(answer),
            label_words=self.result.task.label_words,
            prompts=[_present(number, one, _list_shown(answer, one.found)) for number, one in enumerate(rendered)],
        )

    def _describe(self, answer: SupportExamples) -> dict[str, Any]:
        """The fields that support examples and their prompts for inputs have in common."""
        source = self._find_pool(answer)
        return {
            **self.about,
            "partial": self.result.partial,
            "recommended": answer.recommended,
            "first": self.result.first,
            "reason": answer.reason,
            "form": answer.form,
            "pool_rows": None if source is None else source.num_rows,
            "label_biases": answer.label_biases,
            "expected": ExpectedOut.of(answer),
            "judged": answer.judged,
        }

    def _find_pool(self, answer: SupportExamples) -> PoolSource | None:
        if not answer.form.nearest:
            return None
        if self.pool is None:
            raise NoResult(CHANGED)
        return self.pool


def _list_shown(answer: SupportExamples, found: Sequence[Found]) -> list[tuple[Example, dict[str, Any]]]:
    """The demonstrations of an input in the order of its prompt, the fixed ones first, and the fields about each."""
    fixed = [(one.example, None, "fixed") for one in answer.examples]
    return [
        (example, {"row": example.row, "label": example.label, "similarity": similarity, "origin": origin})
        for example, similarity, origin in (*fixed, *((one.example, one.similarity, "found") for one in found))
    ]


def _present(number: int, rendered: PromptOfInput, shown: Sequence[tuple[Example, dict[str, Any]]]) -> RenderedPrompt:
    """Build the API's view of the prompt of an input."""
    return RenderedPrompt(
        input=number,
        prompt=rendered.text,
        characters=len(rendered.text),
        turns=None if rendered.turns is None else list(rendered.turns),
        demonstrations=[Demonstration(**about) for _, about in shown],
    )


class Finder(Protocol):
    """Finds what production reads of one selection, or of one prompt."""

    @property
    def services(self) -> Services: ...

    @property
    def owner_id(self) -> str: ...

    @property
    def path(self) -> str:
        """Of the selection or prompt in the API."""

    def find_version(self, session: Session) -> Version | None:
        """Which version there is, without reading it; None if there is none."""

    def read(self, session: Session) -> Answers:
        """The answers."""

    def find_input(self, session: Session) -> InputFormat | None:
        """How the file of the selection was written; None if that is not known."""


def end_if_known(finder: Finder, session: Session, if_none_match: str | None, name: str) -> None:
    """Raise Unchanged if the client has the current version of the answer with this name, without reading it."""
    version = None if if_none_match is None else finder.find_version(session)
    if version is not None and is_known(if_none_match, etag := version.etag(name)):
        raise Unchanged(etag)


MakeFinder = Callable[[Services, str], Finder]
"""(services, owner id) -> the finder. It can be pickled."""


async def render(finder: Finder, indexes: Indexes, body: RenderBody) -> Rendered:
    """The prompts for the inputs of a body."""

    def read() -> Answers:
        with finder.services.database.session_scope() as session:
            return finder.read(session)

    answers = await run_in_threadpool(read)
    pool = await answers.fetch_pool(indexes, body.use)
    return await run_in_threadpool(answers.render, body, pool)
