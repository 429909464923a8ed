"""The files of a dataset, read whole, and the columns that the user did not name."""

from dataclasses import dataclass
from pathlib import Path

from lens_engine.errors import Faults, InvalidDataset
from lens_engine.reading import BadRows, ParsingLimits, parse_dataset
from lens_engine.reading.column_profiles import match_columns
from lens_engine.reading.columns import LABEL, TEXT
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a dataset, and the names of their columns."""

    train: Path
    test: Path | None = None
    text_column: str | None = None  #: None: `text`, or the column with this name in another case
    label_column: str | None = None

    def read(self, faults: Faults) -> "ReadSources":
        """Read both files.

        Args:
            faults: takes the bad rows, so that the good ones can be looked at for further faults.

        Raises:
            InvalidDataset: a file cannot be read as a table; the error lists all faults so far.
            OSError: a file cannot be read.
        """
        (text, label), notes = find_columns(self.train, {TEXT: self.text_column, LABEL: self.label_column})
        rows = dict[str, tuple[Example, ...]]()
        for field, path in (("dataset", self.train), ("test", self.test)):
            if path is None:
                continue
            try:
                parsed = parse_dataset(
                    path, ParsingLimits.of_own_files(), field=field, text_column=text, label_column=label
                )
            except InvalidDataset as error:
                faults.found.append(error)
                rows[field] = error.others if isinstance(error, BadRows) else ()
            else:
                rows[field] = parsed.examples
                notes += [f"{field}: {warning}" for warning in parsed.warnings]
        if not all(rows.values()):
            faults.refuse()
        return ReadSources(rows["dataset"], rows.get("test"), tuple(notes))


@dataclass(frozen=True, slots=True)
class ReadSources:
    """The good rows of the files, and what was read although it may surprise."""

    dataset: tuple[Example, ...]
    test: tuple[Example, ...] | None
    notes: tuple[str, ...]


def find_columns(path: Path, wanted: dict[str, str | None]) -> tuple[list[str], list[str]]:
    """The names of columns, as `match_columns`, and a note for each that has its usual name in another case."""
    names = match_columns(path, wanted)
    notes = [
        f"column {name!r} is read as the {usual}s"
        for name, (usual, given) in zip(names, wanted.items(), strict=True)
        if given is None and name != usual
    ]
    return names, notes
