"""The result of parsing an upload."""

from dataclasses import dataclass

from lens_engine.reading.column_choice import ColumnChoice
from lens_engine.reading.columns import ColumnNames
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.table import DatasetFormat
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class ParsedDataset:
    """The labelled texts of one upload, exactly as written."""

    examples: tuple[Example, ...]  #: at least two; `row` counts data rows from 0, blank ones left out
    format: DatasetFormat
    sha256: str  #: of the (text, label) rows in order; equal rows have equal digests in every format
    warnings: tuple[str, ...]  #: one sentence for each oddity that was accepted
    columns: tuple[ColumnNames, ColumnNames]  #: of the texts and the labels
    dialect: FoundDialect | None = None  #: how the file is written; None for rows that were in no file
    unlabelled: tuple[Example, ...] = ()  #: rows with a text and no label, whose `label` is ""
    choice: ColumnChoice | None = None  #: why these columns
