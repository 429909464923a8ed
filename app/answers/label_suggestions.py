"""Which texts to label next, beside the labelled rows of a dataset or of a selection. Nothing is stored."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from fastapi import APIRouter
from pydantic import Field

from app.answers.files import FILES
from app.errors import Unprocessable, invalid_inputs
from app.selections import datasets
from app.selections import service as selections
from app.selections.bodies import Body, JsonBody
from app.selections.limits import parsing_limits
from app.selections.parts import DIALECT_PARTS, describe_form, describe_upload
from app.selections.receiving import Upload, receive
from app.store.datasets import find_label_column, load_rows
from app.store.services import Services
from app.web.dependencies import OWNER_ROUTE
from app.web.openapi import refusals
from app.web.validation import Incoming, Outgoing, read_model
from lens_engine.classifier.classifier import InputFormat
from lens_engine.evaluation.table import write_chosen
from lens_engine.files import ReadTexts, read_inline_texts
from lens_engine.prompt.labelling import choose_texts

router = APIRouter(tags=["datasets"], dependencies=OWNER_ROUTE)


_MOST_TEXTS = 5_000
"""Largest number of texts that are compared: some five seconds of the reader process, which serves all owners."""


class LabelSpec(Incoming):
    """Which rows are labelled already, and how many texts are wanted."""

    one_of: ClassVar = ("dataset_id", "selection_id")

    dataset_id: str | None = Field(default=None, description="Id of the dataset of the labelled rows.")
    selection_id: str | None = Field(default=None, description="Id of a selection, whose dataset has them.")
    n: int = Field(default=20, ge=1, le=1000, description="Number of texts to label next.")
    seed: int = Field(default=0, ge=0, lt=2**32, description="Seed of what is drawn at random.")


class LabelBody(LabelSpec):
    """The JSON body of POST /label-suggestions. A file is sent in a form."""

    other_names: ClassVar = {"inputs": "texts"}

    texts: list[str] = Field(min_length=1, description="Texts without a label.")


class LabelSuggestion(Outgoing):
    """A text to label."""

    input: int = Field(description="Number of the text, counted from 0.")
    text: str = Field(description="The text.")
    chosen_by: Literal["spread", "at random"] = Field(
        description="spread: it stands for many others that no labelled text is like. at random: drawn uniformly; only "
        "these are a fair sample, by which an accuracy can be estimated."
    )


class LabelSuggestionsOut(Outgoing):
    """The texts to label next; a third of each beginning is random."""

    compared: int = Field(
        description=f"Number of different texts without a label that were compared; of more than {_MOST_TEXTS:,}, "
        "those of a random sample."
    )
    items: list[LabelSuggestion] = Field(description="The texts, in the order in which to label them.")
    table: str | None = Field(
        description="The rows of the file that are to be labelled, as CSV with all its columns, an empty one for the "
        "label, and `chosen_by`; null for texts in JSON."
    )
    notes: list[str] = Field(description="What was accepted of the file, a sentence each.")


MODELS = (LabelBody, LabelSpec)
SCHEMAS = describe_form(
    "LabelForm", "A file of texts without labels.", {"texts": FILES["texts"]}, LabelSpec, ("texts",)
)
_EXAMPLE: dict[str, Any] = {"selection_id": "sel_01", "texts": ["I was charged twice."], "n": 1}


@router.post(
    "/label-suggestions",
    response_description="The texts to label next.",
    responses=refusals(400, 401, 404, 413, 415, 422, 503),
    openapi_extra=describe_upload("LabelForm", {"texts": "unlabelled.csv"}, LabelBody, _EXAMPLE),
)
def suggest_labels(
    upload: Annotated[Upload, receive("texts", "spec", "text_column", *DIALECT_PARTS)],
) -> LabelSuggestionsOut:
    """Suggest which texts to label next: two thirds by what they cover, one third at random. Nothing is stored.

    Texts that are labelled or repeated, and bad rows of a file, are left out. No classifier is asked.
    """
    large = replace(upload, is_large=True)  # few texts may come with many labelled rows
    return LabelSuggestionsOut.model_validate(large.do(choose))


def choose(services: Services, owner_id: str, body: Body) -> dict[str, Any]:
    """The answer, made in the reader process."""
    spec: LabelSpec
    spec = read_model(LabelBody, body.value) if isinstance(body, JsonBody) else read_model(LabelSpec, body.spec, "spec")
    with services.database.session_scope() as session:
        dataset_id = spec.dataset_id or selections.get(session, owner_id, spec.selection_id or "").dataset_id
        written = datasets.get(session, owner_id, dataset_id).input
        label_column = find_label_column(session, dataset_id)
        labelled = [one.text for one in load_rows(session, dataset_id)]
    found = _read(services, body, spec, written)
    texts, labelled_here, notes = found.part_by_labels(label_column)
    chosen = choose_texts(texts, [*labelled, *labelled_here], spec.n, seed=spec.seed, most=_MOST_TEXTS)
    items = [{"input": one.place, "text": texts[one.place], "chosen_by": one.chosen_by} for one in chosen.texts]
    table = None if isinstance(body, JsonBody) else write_chosen(found, chosen.texts, label_column).decode()
    return {"compared": chosen.num_compared, "items": items, "table": table, "notes": [*found.warnings, *notes]}


def _read(services: Services, body: Body, spec: LabelSpec, written: dict[str, Any] | None) -> ReadTexts:
    limits = parsing_limits(services.settings)
    with invalid_inputs():
        if isinstance(spec, LabelBody):
            return read_inline_texts(spec.texts, limits)
        assert not isinstance(body, JsonBody)
        usual = {name: one for name, one in (written or {}).items() if name != "label_column"}
        found = body.parse_texts(limits, InputFormat.model_validate(usual) if usual else None)
    if found is None:
        raise Unprocessable.at("/texts", "`texts` is missing; send a file")
    return found
