"""The files of a dataset, read whole, and the columns that the user did not name."""

from dataclasses import dataclass, replace
from pathlib import Path

from lens_engine.classifier.classifier import InputFormat
from lens_engine.errors import Faults, InvalidDataset
from lens_engine.files import BadRows, Dialect, Named, ParsingLimits, parse_dataset
from lens_engine.files.table import TEXT, ColumnNames
from lens_engine.files.text_file import ANY_DIALECT, UTF8
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a dataset, and the names of their columns."""

    train: Path
    test: Path | None = None
    text_column: ColumnNames | None = None  #: None to find it
    label_column: str | None = None
    dialect: Dialect = Dialect()  #: how the files are written; what it leaves open is found
    usual: InputFormat | None = None  #: of an earlier file; it is taken where a file does not tell
    skips_unlabelled: bool = False  #: whether any share of the rows may lack a label

    def read(self, faults: Faults) -> "ReadSources":
        """Read both files. `faults` takes the bad rows, so that the good ones can be looked at for more faults. Where a
        file cannot be read as a table, all faults so far are raised.
        """
        known, notes = self.usual, list[str]()
        usual = ANY_DIALECT if known is None else Dialect(known.encoding, known.delimiter)
        columns = Named(self.text_column, self.label_column, None if known is None else known.text_column)
        limits = replace(ParsingLimits.of_own_files(), skips_unlabelled=self.skips_unlabelled)
        rows, unlabelled = dict[str, tuple[Example, ...]](), tuple[Example, ...]()
        input = InputFormat(text_column=self.text_column or TEXT, encoding=UTF8)
        for field, path in (("dataset", self.train), ("test", self.test)):
            if path is None:
                continue
            try:
                parsed = parse_dataset(path, limits, field=field, columns=columns, dialect=self.dialect, usual=usual)
            except InvalidDataset as error:
                faults.found.append(error)
                rows[field] = error.others if isinstance(error, BadRows) else ()
                continue
            rows[field] = parsed.examples
            notes += [f"{field}: {warning}" for warning in parsed.warnings]
            if field == "dataset" and parsed.dialect is not None:
                columns, unlabelled, dialect = Named(*parsed.columns), parsed.unlabelled, parsed.dialect
                input = InputFormat(
                    text_column=parsed.columns[0], delimiter=dialect.delimiter, encoding=dialect.encoding
                )
        if not all(rows.values()):
            faults.refuse()
        return ReadSources(rows["dataset"], rows.get("test"), tuple(notes), input, unlabelled, columns.label)

    def list_labels(self) -> frozenset[str]:
        """The labels of the dataset, without its bad rows."""
        return frozenset(example.label for example in self.read(Faults()).dataset)


@dataclass(frozen=True, slots=True)
class ReadSources:
    """The good rows of the files, and what was read although it may surprise."""

    dataset: tuple[Example, ...]
    test: tuple[Example, ...] | None
    notes: tuple[str, ...]
    input: InputFormat  #: for the classifier
    unlabelled: tuple[Example, ...] = ()  #: rows of the dataset with a text and no label
    label_column: str | None = None
