"""The files of a dataset, read whole, and the columns that the user did not name."""

from dataclasses import dataclass
from pathlib import Path

from lens_engine.classifier.input_format import InputFormat
from lens_engine.errors import Faults, InvalidDataset
from lens_engine.reading import BadRows, Dialect, ParsingLimits, parse_dataset
from lens_engine.reading.column_choice import find_columns
from lens_engine.reading.column_profiles import read_names
from lens_engine.reading.dialect import ANY_DIALECT, FoundDialect
from lens_engine.reading.open_table import find_dialect
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a dataset, and the names of their columns."""

    train: Path
    test: Path | None = None
    text_column: str | None = None  #: None to find it
    label_column: str | None = None
    dialect: Dialect = Dialect()  #: how the files are written; what it leaves open is found
    usual: InputFormat | None = None  #: of an earlier file; it is taken where a file does not tell

    def read(self, faults: Faults) -> "ReadSources":
        """Read both files.

        Args:
            faults: takes the bad rows, so that the good ones can be looked at for further faults.

        Raises:
            InvalidDataset: a file cannot be read as a table; the error lists all faults so far.
            OSError: a file cannot be read.
        """
        usual = ANY_DIALECT if self.usual is None else Dialect(self.usual.encoding, self.usual.delimiter)
        found = find_dialect(self.train, "dataset", self.dialect, usual)
        columns = find_columns(self.train, self._text_column(found), self.label_column, found)
        text, label, notes = columns.text.name, columns.label.name, columns.notes()
        rows = dict[str, tuple[Example, ...]]()
        for field, path in (("dataset", self.train), ("test", self.test)):
            if path is None:
                continue
            try:
                parsed = parse_dataset(
                    path,
                    ParsingLimits.of_own_files(),
                    field=field,
                    text_column=text,
                    label_column=label,
                    dialect=found if field == "dataset" else self.dialect,
                )
            except InvalidDataset as error:
                faults.found.append(error)
                rows[field] = error.others if isinstance(error, BadRows) else ()
            else:
                rows[field] = parsed.examples
                notes += [f"{field}: {warning}" for warning in parsed.warnings]
        if not all(rows.values()):
            faults.refuse()
        return ReadSources(
            rows["dataset"],
            rows.get("test"),
            tuple(notes),
            InputFormat(text_column=text, delimiter=found.delimiter, encoding=found.encoding),
        )

    def list_labels(self) -> frozenset[str]:
        """The labels of the dataset.

        Raises: as `read`; rows that are bad are left out.
        """
        return frozenset(example.label for example in self.read(Faults()).dataset)

    def _text_column(self, dialect: FoundDialect) -> str | None:
        """The column of texts that the caller knows, from an earlier file too."""
        if self.text_column is not None or self.usual is None:
            return self.text_column
        return self.usual.text_column if self.usual.text_column in read_names(self.train, dialect) else None


@dataclass(frozen=True, slots=True)
class ReadSources:
    """The good rows of the files, and what was read although it may surprise."""

    dataset: tuple[Example, ...]
    test: tuple[Example, ...] | None
    notes: tuple[str, ...]
    input: InputFormat  #: for the classifier
