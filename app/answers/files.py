"""Files of texts for answers in batches: read as the classifier reads them, and written with the answers.

Nothing is stored, so client, page and command send the file again with its answers. The functions that begin with
`write` and `measure` run in the reader process.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from app.answers.answers import MakeFinder
from app.answers.classifying import Asked, read_asked
from app.answers.schemas import ClassifyBody, Wish
from app.errors import BadRequest, Unprocessable, invalid_inputs
from app.selections.bodies import Body, FormBody
from app.selections.form import open_upload
from app.selections.limits import parsing_limits
from app.selections.parts import COLUMN_PARTS, DIALECT_PARTS, describe_form, describe_upload
from app.selections.receiving import Upload, receive
from app.store.services import Services
from app.web.openapi import sends
from app.web.validation import Incoming, read_model
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.batches import Answers, Prediction, leave_out
from lens_engine.evaluation.evaluation import measure
from lens_engine.evaluation.table import MEDIA_TYPES, PredictedTable, TableFormat, write_table
from lens_engine.files import ParsedDataset, ReadTexts
from lens_engine.files.limits import DatasetEmpty
from lens_engine.result.parts import EvaluationResult

W = TypeVar("W", bound=Wish)


class TextsSpec(Wish):
    """How a file of texts is read."""

    labelled: bool = Field(default=False, description="Whether the file has labels, for figures.")


class TableSpec(Wish):
    """How a file of texts is written with its answers."""

    format: TableFormat | None = Field(default=None, description="Form of the file; null for that of the texts.")


class FiguresSpec(Wish):
    """What is said of figures on labelled rows."""

    keep: bool = Field(default=False, description="Whether the figures are kept with the version of the name.")
    title: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="What the rows are called; null for the name of the file."
    )


class GivenAnswer(Incoming, extra="ignore"):
    """The answer to one row, as `classify` gave it; its number, probability and `answered` are not read."""

    label: str | None = None
    probabilities: list[Annotated[float, Field(ge=0.0, le=1.0)]] | None = None
    cut: bool = False
    error: str | dict[str, str] | None = None

    def predict(self, places: Mapping[str, int]) -> Prediction | None:
        """As the library has it; None if it is no answer of a classifier of these labels, each with its place."""
        found = tuple(self.probabilities or ())
        if self.label is not None:
            is_whole = self.label in places and len(found) == len(places) and abs(sum(found) - 1) < 0.001
            if not is_whole or found[places[self.label]] < max(found):
                return None
        error = self.error.get("detail") if isinstance(self.error, dict) else self.error
        return Prediction(label=self.label, probabilities=found, error=error, is_cut=self.cut)


TABLES: dict[int | str, Any] = {
    200: {
        "description": "The file.",
        "content": {one.partition(";")[0]: {"schema": {"type": "string"}} for one in MEDIA_TYPES.values()},
        **sends("Content-Disposition"),
    }
}
_FILE = {"type": "string", "format": "binary"}
FILES = {
    "texts": {**_FILE, "description": "File with a column of texts. Its shape, delimiter and encoding are found."},
    "answers": {**_FILE, "description": "JSON list of the answers to all rows, in order, as `classify` gives them."},
}
MODELS = (ClassifyBody, TextsSpec, TableSpec, FiguresSpec)
SCHEMAS = {
    **describe_form("TextsForm", "A file of texts to read.", {"texts": FILES["texts"]}, TextsSpec, ("texts",)),
    **describe_form("TableForm", "A file of texts and its answers.", FILES, TableSpec, ("texts", "answers")),
    **describe_form("FiguresForm", "A labelled file and its answers.", FILES, FiguresSpec, ("texts", "answers")),
}

TextsUpload = Annotated[Upload, receive("texts", "spec", *COLUMN_PARTS)]
TEXTS_FORM = describe_upload("TextsForm", {"texts": "reviews.csv"})
TableUpload = Annotated[Upload, receive("texts", "answers", "spec", "text_column", *DIALECT_PARTS)]
TABLE_FORM = describe_upload("TableForm", {"texts": "reviews.csv", "answers": "answers.json"})

_ANSWERS = TypeAdapter(list[GivenAnswer])


def send(upload: Upload, work: Callable[[str, Services, str, Body], str], name: str) -> FileResponse:
    """Let the reader process write a file, and send it. It is deleted when it was sent.

    Args:
        work: (path of the file, services, owner id, body) -> media type.
        name: of the file, without its suffix.
    """
    file = open_upload(upload.services.settings.spool_dir)
    try:
        media_type = upload.do(partial(work, file.name))
        suffix = {kind: format for format, kind in MEDIA_TYPES.items()}.get(media_type, "json")
        shown = None if suffix == "json" else f"{name}.{suffix}"
        return FileResponse(file.name, media_type=media_type, filename=shown, background=BackgroundTask(file.close))
    except BaseException:
        file.close()
        raise


def write_texts(make: MakeFinder, path: str, services: Services, owner_id: str, body: Body) -> str:
    """Write the texts of a file as JSON, with their labels if it has some."""
    form, spec, asked = _read_form(TextsSpec, make, services, owner_id, body)
    if spec.labelled:
        judged, notes = _read_labelled(form, services, asked.classifier)
        texts, labels = [one.text for one in judged.examples], [one.label for one in judged.examples]
        faults = list[str | None]([None] * len(texts))
    else:
        found = _read_texts(form, services, asked.classifier)
        texts, labels, notes = [one.text for one in found.rows], None, found.warnings
        faults = [one.fault for one in found.rows]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"texts": texts, "faults": faults, "labels": labels, "notes": list(notes)}, file, ensure_ascii=False)
    return "application/json"


def write_labelled(make: MakeFinder, path: str, services: Services, owner_id: str, body: Body) -> str:
    """Write a file of texts with its answers, as the library writes it."""
    form, spec, asked = _read_form(TableSpec, make, services, owner_id, body)
    found = _read_texts(form, services, asked.classifier)
    predictions = _read_answers(form, asked.classifier, len(found.rows))
    table = PredictedTable(asked.classifier.labels, found, predictions, spec.answer_above)
    format: TableFormat = spec.format or ("jsonl" if found.format in ("jsonl", "json") else "csv")
    with open(path, "wb") as file:
        file.writelines(write_table(table, format))
    return MEDIA_TYPES[format]


class Measured(NamedTuple):
    """Figures on the rows of a file."""

    result: EvaluationResult
    title: str | None
    keep: bool


def measure_file(make: MakeFinder, services: Services, owner_id: str, body: Body) -> Measured:
    """The figures of answers to the rows of a labelled file."""
    form, spec, asked = _read_form(FiguresSpec, make, services, owner_id, body)
    judged, notes = _read_labelled(form, services, asked.classifier)
    with invalid_inputs(dataset=judged):
        answers = Answers(asked.classifier.labels, judged.examples)
        answers.extend(_read_answers(form, asked.classifier, len(judged.examples)))
        result = measure(asked.classifier, judged.examples, answers, notes=notes)
    return Measured(result=result, title=spec.title or form.names.get("texts"), keep=spec.keep)


def _read_form(
    kind: type[W], make: MakeFinder, services: Services, owner_id: str, body: Body
) -> tuple[FormBody, W, Asked]:
    """The form, its spec, and what is asked."""
    if not isinstance(body, FormBody):
        raise BadRequest("send a form with the part `texts`, a file")
    if "texts" not in body.files:
        raise Unprocessable.at("/texts", "`texts` is missing; send a file")
    spec = read_model(kind, body.spec, "spec")
    return body, spec, read_asked(make(services, owner_id), spec)


def _read_texts(form: FormBody, services: Services, classifier: Classifier) -> ReadTexts:
    with invalid_inputs():
        found = form.parse_texts(parsing_limits(services.settings), classifier.input)
        assert found is not None
        if not found.rows:
            raise DatasetEmpty("the file has no rows", field="texts")
        return found


def _read_labelled(form: FormBody, services: Services, classifier: Classifier) -> tuple[ParsedDataset, tuple[str, ...]]:
    """The labelled rows that are judged, and notes on them."""
    with invalid_inputs():
        found = form.parse("texts", parsing_limits(services.settings, skips_unlabelled=True), form.columns)
        assert found is not None
        kept, notes = leave_out(classifier.task, found.examples)
        return replace(found, examples=kept), (*found.warnings, *notes)


def _read_answers(form: FormBody, classifier: Classifier, num_rows: int) -> list[Prediction]:
    if "answers" not in form.files:
        raise Unprocessable.at("/answers", "`answers` is missing; send the answers of `classify` as a file of JSON")
    try:
        given = _ANSWERS.validate_json(form.files["answers"].read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"/{one}" for one in first["loc"])
        raise Unprocessable.at(f"/answers{place}", f"`answers{place}` cannot be read: {first['msg']}") from None
    if len(given) != num_rows:
        detail = f"`answers` has {len(given):,} items for {num_rows:,} rows; send one for each"
        raise Unprocessable.at("/answers", detail)
    found, places = list[Prediction](), {label: place for place, label in enumerate(classifier.labels)}
    for number, one in enumerate(given):
        prediction = one.predict(places)
        if prediction is None:
            detail = f"answer {number} is not one of this classifier; classify the rows again"
            raise Unprocessable.at(f"/answers/{number}", detail)
        found.append(prediction)
    return found
