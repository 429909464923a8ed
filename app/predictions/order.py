"""POST …/predictions: a file of texts, for the classifier of a selection or of a name."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.errors import Unprocessable
from app.intake.ceilings import check_asking
from app.intake.model_names import check_model_name
from app.intake.order import Desk, ValidJob
from app.intake.refusals import invalid_inputs
from app.intake.submissions import JsonSubmission, RawSubmission, parsing_limits
from app.lifecycle.rows import weigh_answers
from app.models import Job
from app.predictions.presentation import present
from app.predictions.schemas import PredictionBody
from app.predictions.stored import PredictionSpec
from app.prompts import service as prompts
from app.selections import service as selections
from app.web.validation import read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.reading import ParsingLimits, ReadTexts, read_inline_texts
from lens_engine.reading.dialect import UTF8
from lens_engine.reading.errors import DatasetEmpty


@dataclass(frozen=True, slots=True)
class PredictionOrder:
    """Predictions by the classifier of a selection, or of a name: one of both is given."""

    selection_id: str | None = None
    prompt_name: str | None = None
    kind: str = "prediction"
    prefix: str = "pr"

    @property
    def about(self) -> str:
        return f"prediction of {self.selection_id or self.prompt_name}"

    def validate(self, body: RawSubmission, desk: Desk) -> ValidJob:
        """Find the classifier, and read the texts.

        Raises:
            NotFound, NotFinished, NoResult, NoClassifier: there is no classifier.
            BadRequest, ContentTooLarge, Unprocessable, RefusedInput: the body is wrong.
        """
        with desk.session() as session:
            classifier, source = self._find(desk, session)
        model = None if classifier.model is None else check_model_name(classifier.model.model, desk.settings)
        with invalid_inputs(inline=isinstance(body, JsonSubmission)):
            texts, name = _read(body, parsing_limits(desk.settings), classifier.input)
        num_rows = len(texts.rows)
        check_asking(classifier, model, num_rows, len(classifier.prompts), desk.settings)
        spec = PredictionSpec(
            model=model,
            classifier=classifier,
            columns=texts.columns,
            text_place=texts.text_place,
            delimiter=texts.dialect.delimiter,
            has_mark=texts.dialect.encoding != UTF8,
        )
        return ValidJob(
            spec.model_dump(mode="json"),
            spec.VERSION,
            texts,
            name=name,
            source=source,
            answer_bytes=weigh_answers(num_rows, classifier.labels),
        )

    def _find(self, desk: Desk, session: Session) -> tuple[Classifier, dict[str, Any]]:
        if self.prompt_name is None:
            assert self.selection_id is not None
            found = selections.get_classifier(desk.services, session, desk.owner_id, self.selection_id)
            return found, {"selection_id": self.selection_id}
        named = prompts.read(desk.services, session, desk.owner_id, self.prompt_name)
        version = named.version
        about = {"selection_id": version.selection_id, "prompt_name": version.name, "version": version.version}
        return named.get_classifier(), about

    def present(self, session: Session, job: Job) -> dict[str, Any]:
        return present(session, job, None).model_dump(mode="json")


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
