"""Classifies texts at once, by what a selection found or what a name says.

What is asked is read from the database once for each version, and handed to who asks the model: the answering process,
or this process for words and for models behind servers.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from app.answers.answering import AnswersClient, unless_gone
from app.answers.answers import Finder, Version
from app.answers.remote import Subject, weigh_subject
from app.answers.schemas import Answered, AskedContender, ClassifiedOut, ClassifyBody, Figures, InputError, Wish
from app.errors import TooManyRequests, Unprocessable
from app.held_values import HeldValues
from app.selections.limits import check_asking
from app.web.dependencies import read_state
from app.web.openapi import takes_json
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.quality import measure_figures
from lens_engine.config import Use
from lens_engine.errors import InvalidDataset
from lens_engine.evaluation.batches import Answers, Prediction, leave_out
from lens_engine.evaluation.table import is_answered, shorten
from lens_engine.prompt.pool import PromptForm
from lens_engine.types import Example

MOST_AT_ONCE = 8
"""Requests of one owner that are answered at the same time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, and what clients are told of it."""

    subject: Subject
    contender: AskedContender
    about: Mapping[str, Any]  #: the selection; and name and version, where a prompt was asked

    @property
    def classifier(self) -> Classifier:
        """What is asked; a prompt is asked as a classifier."""
        return self.subject.classifier


class Classifying:
    """What one API process needs to classify. All calls must come from its event loop."""

    def __init__(self, asking: AnswersClient, most_bytes: int) -> None:
        """`most_bytes`: of what is asked that the process holds."""
        self.asking = asking
        self._asked = HeldValues[tuple[object, ...], Asked](
            most_bytes, lambda asked: weigh_subject(asked.subject), "lens-asked"
        )
        self._open = Counter[str]()

    @contextmanager
    def hold(self, owner_id: str) -> Iterator[None]:
        """Hold one of the places of an owner until the block ends."""
        if self._open[owner_id] >= MOST_AT_ONCE:
            raise TooManyRequests(
                f"{MOST_AT_ONCE} of your requests are being answered, the most at the same time; repeat this one when "
                "one of them has ended",
                headers={"Retry-After": "1"},
            )
        self._open[owner_id] += 1
        try:
            yield
        finally:
            self._open[owner_id] -= 1
            self._open += Counter()  # forgets owners without a request

    async def find(self, finder: Finder, wish: Wish) -> Asked:
        """What is asked, read anew where the selection or the name has another version."""

        read = partial(read_asked, finder, wish)

        def find_version() -> Version | None:
            with finder.services.database.session_scope() as session:
                return finder.find_version(session)

        version = await run_in_threadpool(find_version)
        if version is None:  # `read` says why
            return await run_in_threadpool(read)
        key = (finder.owner_id, finder.path, version, wish.prompts, wish.use, wish.fixed)
        return await self._asked.find_or_make(key, read)

    def close(self) -> None:
        self._asked.close()


ClassifyingDep = Annotated[Classifying, read_state("classifying", of_app=True)]
ClassifyBodyDep = Annotated[ClassifyBody, Depends(json_body(ClassifyBody, is_stored=False))]
CLASSIFY_BODY = takes_json(ClassifyBody)


def read_asked(finder: Finder, wish: Wish) -> Asked:
    """What is asked of the current version."""
    with finder.services.database.session_scope() as session:
        answers = finder.read(session)
        is_open = wish.prompts is None and wish.use is None and not wish.fixed
        if wish.prompts == "classifier" or (is_open and answers.result.first != "prompt"):
            classifier = answers.read_classifier(session)
            return Asked(Subject.of(classifier), _describe(classifier, None), answers.about)
        written = finder.find_input(session)
    classifier, use = answers.make_classifier(wish.use, is_fixed=wish.fixed)  # in another transaction
    classifier = classifier.model_copy(update={"input": written})
    return Asked(Subject.of(classifier), _describe(classifier, use), answers.about)


def _describe(classifier: Classifier, use: Use | None) -> AskedContender:
    kind = "prompt" if use is not None else "words" if classifier.head.kind == "bag_of_words" else "classifier"
    form = PromptForm() if classifier.retrieval is None else classifier.retrieval.form
    return AskedContender(
        kind=kind,
        head=classifier.head.kind,
        form=None if use is None else form,
        use=use,
        model=None if classifier.model is None else classifier.model.model,
    )


async def classify(request: Request, finder: Finder, classifying: Classifying, body: ClassifyBody) -> ClassifiedOut:
    """The answers to the inputs of a body; a bad input has its error, and costs no other."""
    settings = finder.services.settings
    with classifying.hold(finder.owner_id):
        asked = await classifying.find(finder, body)
        classifier, contender = asked.classifier, asked.contender
        check_asking(classifier, contender.model, len(body.inputs), settings)
        gold = None if body.labels is None else _read_labels(classifier, body)
        answering = classifying.asking.ask(asked.subject, body.inputs)
        predictions = await unless_gone(request, answering)
    return ClassifiedOut(
        **asked.about,
        contender=contender,
        labels=list(classifier.labels),
        answers=[_present(number, one, body.answer_above) for number, one in enumerate(predictions)],
        figures=None if gold is None else _measure(gold, predictions),
    )


def _read_labels(classifier: Classifier, body: ClassifyBody) -> Answers:
    given = zip(body.inputs, body.labels or (), strict=True)
    examples = [Example(number, text, label) for number, (text, label) in enumerate(given) if label is not None]
    kept, _ = leave_out(classifier.task, examples, may_be_all=True)
    try:
        return Answers(classifier.labels, kept)
    except InvalidDataset as error:
        raise Unprocessable.at(f"/labels/{error.row}", str(error)) from None


def _measure(gold: Answers, predictions: Sequence[Prediction]) -> Figures | None:
    gold.extend(predictions[one.row] for one in gold.examples)
    if not gold.is_answer.any():
        return None
    figures = gold.figures()
    quality, right = measure_figures(figures), int(figures.hits.sum())
    return Figures(
        n=quality.n,
        right=right,
        accuracy=quality.accuracy,
        macro_f1=quality.macro_f1 or 0.0,
        log_loss=quality.log_loss,
        unanswered=len(gold.examples) - quality.n,
        confusion=gold.confusion().tolist(),
    )


def _present(number: int, one: Prediction, answer_above: float | None) -> Answered:
    probabilities = shorten(one.probabilities)
    probability = max(probabilities, default=None)
    return Answered(
        input=number,
        label=one.label,
        probability=probability,
        probabilities=probabilities or None,
        answered=one.label is not None and (answer_above is None or is_answered(probability, answer_above)),
        cut=one.is_cut,
        error=None if one.error is None else InputError(code=one.code or "invalid-input", detail=one.error),
    )
