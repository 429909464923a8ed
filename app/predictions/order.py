"""POST …/predictions: a file of texts, for the classifier or the prompt of a selection or of a name."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.answers.answers import Answers
from app.errors import Unprocessable
from app.intake.ceilings import check_asking
from app.intake.model_names import check_model_name
from app.intake.order import Desk, ValidJob
from app.intake.refusals import invalid_inputs
from app.intake.submissions import JsonSubmission, RawSubmission, parsing_limits
from app.predictions.presentation import present
from app.predictions.schemas import PredictionBody, PredictionRequest
from app.predictions.stored import PredictionSpec
from app.prompts.finding import PromptFinder
from app.selections import service as selections
from app.selections.finding import SelectionFinder
from app.store.pools import part_pool
from app.store.rows import weigh_answers
from app.store.tables import Job
from app.web.validation import read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.config import Use
from lens_engine.reading import ParsingLimits, ReadTexts, read_inline_texts
from lens_engine.reading.dialect import UTF8
from lens_engine.reading.errors import DatasetEmpty


@dataclass(frozen=True, slots=True)
class PredictionOrder:
    """Predictions by what a selection found, or what a name says: one of both is given."""

    selection_id: str | None = None
    prompt_name: str | None = None
    kind: str = "prediction"
    prefix: str = "pr"

    @property
    def about(self) -> str:
        return f"prediction of {self.selection_id or self.prompt_name}"

    def validate(self, body: RawSubmission, desk: Desk) -> ValidJob:
        """Find what is asked, and read the texts.

        Raises:
            NotFound, NotFinished, NoResult, NoClassifier: there is nothing of the kind.
            BadRequest, ContentTooLarge, Unprocessable, RefusedInput: the body is wrong.
        """
        wanted = _read_request(body)
        with desk.session() as session:
            found, source = self._find(desk, session, wanted)
        asked = found.asked
        model = None if asked.model is None else check_model_name(asked.model.model, desk.settings)
        with invalid_inputs(inline=isinstance(body, JsonSubmission)):
            texts, name = _read(body, parsing_limits(desk.settings), asked.input)
        num_rows = len(texts.rows)
        check_asking(asked, model, num_rows, len(asked.prompts), desk.settings)
        parted = part_pool(asked)
        spec = PredictionSpec(
            model=model,
            classifier=parted.classifier,
            use=found.use,
            columns=texts.columns,
            text_place=texts.text_place,
            delimiter=texts.dialect.delimiter,
            has_mark=texts.dialect.encoding != UTF8,
            answer_above=wanted.answer_above,
        )
        return ValidJob(
            spec.model_dump(mode="json"),
            texts,
            name=name,
            source=source,
            answer_bytes=weigh_answers(num_rows, asked.labels),
            pool=parted.pool,
        )

    def _find(self, desk: Desk, session: Session, wanted: PredictionRequest) -> tuple["_Found", dict[str, Any]]:
        """What is asked, and where it comes from."""
        is_prompt, about = wanted.prompts == "support_examples", {"selection_id": self.selection_id}
        if self.selection_id is not None:
            own = desk.services, session, desk.owner_id, self.selection_id
            if not is_prompt:
                return _Found(selections.get_classifier(*own)), about
            finder = SelectionFinder(desk.services, desk.owner_id, self.selection_id)
            answers = finder.read(session, has_ended=True)
            return _find_prompt(answers, wanted, selections.find_input(session, self.selection_id)), about
        named = PromptFinder(desk.services, desk.owner_id, self.prompt_name or "").read_current(session)
        version = named.version
        whose = {"selection_id": version.selection_id, "prompt_name": version.name, "version": version.version}
        if not is_prompt:
            return _Found(named.get_classifier()), whose
        return _find_prompt(named.answers, wanted, named.find_input()), whose

    def present(self, session: Session, job: Job) -> dict[str, Any]:
        return present(session, job, None).model_dump(mode="json")


class _Found(NamedTuple):
    """What is asked."""

    asked: Classifier
    use: Use | None = None  #: of a prompt


def _find_prompt(answers: Answers, wanted: PredictionRequest, usual: InputFormat | None) -> _Found:
    """The prompt that is wanted, as a classifier.

    Args:
        usual: how the file of the selection was written; None if that is not known.
    """
    asked = answers.make_classifier(wanted.use, is_fixed=wanted.fixed)
    return _Found(asked.classifier.model_copy(update={"input": usual}), asked.use)


def _read_request(body: RawSubmission) -> PredictionRequest:
    if isinstance(body, JsonSubmission):
        return read_model(PredictionBody, body.parsed).spec
    return read_model(PredictionRequest, body.spec, "spec")


def _read(body: RawSubmission, limits: ParsingLimits, usual: InputFormat | None) -> tuple[ReadTexts, str | None]:
    if isinstance(body, JsonSubmission):
        found = read_model(PredictionBody, body.parsed)
        return read_inline_texts(found.texts, limits), found.name
    texts = body.parse_texts(limits, usual)
    if texts is None:
        raise Unprocessable.at("/texts", "`texts` is missing; send a file")
    if not texts.rows:
        raise DatasetEmpty("the file has no rows", field="texts")
    return texts, None
