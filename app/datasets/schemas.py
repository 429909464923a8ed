"""Wire types of datasets."""

from datetime import datetime
from typing import Any

from pydantic import Field

from app.intake.parts import Name, RowsBody
from app.web.validation import Outgoing
from lens_engine.rows.report import DatasetReport, LabelRows


class DatasetBody(RowsBody):
    """The JSON body of POST /datasets. A file is sent in a form."""

    examples: list[Any] = Field(description='Rows: objects with "text" and "label" or other usual names.')
    name: Name | None = Field(default=None, description="Display name.")


class DatasetOut(Outgoing):
    """A stored dataset."""

    id: str = Field(description="Id; a submission can name it as `dataset_id` instead of sending rows.")
    name: str | None = Field(description="Display name; that of the file if it came in one.")
    format: str = Field(description="Shape of the upload: csv, jsonl, json, text, workbook or inline.")
    rows: int = Field(description="Number of rows.")
    bytes: int = Field(description="Size of the texts and labels (bytes).")
    labels: list[LabelRows] = Field(description="Labels, the most frequent first.")
    is_kept: bool = Field(
        description="Whether it was stored by POST /datasets, so that it stays when no job uses it any more."
    )
    warnings: list[str] = Field(description="Warnings about accepted but unusual content.")
    created_at: datetime = Field(description="Time of the upload.")


class DatasetPage(Outgoing):
    """One page of datasets, newest first."""

    items: list[DatasetOut] = Field(description="Datasets, newest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class DatasetReportOut(DatasetReport):
    """What is in a dataset, and its id."""

    dataset_id: str = Field(description="Id of the dataset.")
