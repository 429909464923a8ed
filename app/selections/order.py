"""POST /selections: a dataset, optionally test rows, and a spec."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.errors import Unprocessable
from app.intake.order import Desk, Labelled, ValidJob
from app.intake.refusals import invalid_inputs
from app.intake.submissions import FormSubmission, JsonSubmission, RawSubmission, name_columns, parsing_limits
from app.selections.checks import check_spec
from app.selections.presentation import present
from app.selections.submission_schemas import SelectionSpec, SubmissionBody
from app.settings import Settings
from app.store.tables import Job
from app.web.validation import read_model
from lens_engine.errors import Faults
from lens_engine.reading import ParsedDataset, parse_inline
from lens_engine.reading.table import ColumnNames


@dataclass(frozen=True, slots=True)
class SelectionOrder:
    """A selection."""

    kind: str = "selection"
    prefix: str = "sel"
    about: str = ""

    def validate(self, body: RawSubmission, desk: Desk) -> ValidJob:
        """Parse and check the spec and the rows.

        Raises:
            BadRequest, ContentTooLarge: the body is not JSON, or has too many objects.
            Unprocessable: the body has another form, or names an unknown model or dataset.
            RefusedInput: the engine or the parser refuses the spec or the rows.
        """
        return _read_json(body, desk) if isinstance(body, JsonSubmission) else _read_form(body, desk)

    def present(self, session: Session, job: Job) -> dict[str, Any]:  # noqa: ARG002
        return present(job).model_dump(mode="json")


def _read_json(submission: JsonSubmission, desk: Desk) -> ValidJob:
    body = read_model(SubmissionBody, submission.parsed)
    spec = check_spec(body.spec, desk.settings)
    limits = parsing_limits(desk.settings, skips_unlabelled=spec.skips_unlabelled)

    def read(rows: list[Any] | None, dataset_id: str | None, prefix: str, dataset: Labelled | None) -> Labelled | None:
        columns = _columns_of(dataset, body.columns)
        if rows is not None:
            return parse_inline(rows, limits, field=f"{prefix}examples", columns=name_columns(columns))
        return None if dataset_id is None else desk.find_dataset(dataset_id, f"{prefix}dataset_id")

    dataset, test = _read_both(
        lambda: read(body.examples, body.dataset_id, "", None),
        lambda dataset: read(body.test_examples, body.test_dataset_id, "test_", dataset),
        inline=True,
    )
    return spec.submit(dataset, test, is_inline=body.examples is not None)


def _read_form(form: FormSubmission, desk: Desk) -> ValidJob:
    spec = check_spec(read_model(SelectionSpec, form.spec, "spec"), desk.settings)
    dataset, test = read_files(form, desk.settings, skips_unlabelled=spec.skips_unlabelled)
    return spec.submit(dataset, test, is_inline=False)


def read_files(form: FormSubmission, settings: Settings, *, skips_unlabelled: bool) -> tuple[Labelled, Labelled | None]:
    """Read the file of the dataset, and that of the test rows with the same columns if there is one.

    Args:
        skips_unlabelled: whether any share of the rows may lack a label.

    Raises:
        Unprocessable: there is no file of the dataset.
        RefusedInput: names the faults of both.
    """
    if form.dataset is None:
        raise Unprocessable.at("/dataset", "`dataset` is missing; send a file")
    limits = parsing_limits(settings, skips_unlabelled=skips_unlabelled)
    return _read_both(
        lambda: form.parse("dataset", limits, form.columns),
        lambda dataset: form.parse("test", limits, _columns_of(dataset, form.columns)),
        inline=False,
    )


def _columns_of(dataset: Labelled | None, given: Mapping[str, ColumnNames]) -> Mapping[str, ColumnNames]:
    """The columns of test rows: those of the dataset, whose texts they are compared with."""
    if not isinstance(dataset, ParsedDataset):
        return given
    return dict(zip(("text_column", "label_column"), dataset.columns, strict=True))


def _read_both(
    read_dataset: Callable[[], Labelled | None],
    read_test: Callable[[Labelled | None], Labelled | None],
    *,
    inline: bool,
) -> tuple[Labelled, Labelled | None]:
    """Read the dataset and the test rows, which have the columns of the dataset.

    Raises:
        RefusedInput: names the faults of both.
    """
    faults = Faults()
    dataset = test = None
    with invalid_inputs(inline=inline):
        with faults.noting():
            dataset = read_dataset()
        with faults.noting():
            test = read_test(dataset)
        faults.refuse()
    assert dataset is not None
    return dataset, test
