"""Uploads as bytes, and the same rows written in every format."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lens_engine.files import InvalidDataset, Named, ParsedDataset, ParsingLimits, parse_dataset, parse_inline

Row = tuple[str | None, str | None]
Names = tuple[str, str]
NAMES = ("text", "label")
FORMATS = ("csv", "jsonl", "parquet", "inline")


@dataclass(frozen=True)
class Uploads:
    """Writes content to a file that has no telling name, and parses it as a trusted file."""

    folder: Path

    def parse(self, content: bytes, limits: ParsingLimits | None = None, names: Names = NAMES) -> ParsedDataset:
        path = self.folder / "upload"
        path.write_bytes(content)
        limits = replace(limits or ParsingLimits(), is_trusted=True)
        return parse_dataset(path, limits, columns=Named(*names))

    def refuse(self, content: bytes, limits: ParsingLimits | None = None) -> InvalidDataset:
        with pytest.raises(InvalidDataset) as refusal:
            self.parse(content, limits)
        return refusal.value

    def parse_rows(
        self, rows: Sequence[Row], written_as: str, limits: ParsingLimits | None = None, names: Names = NAMES
    ) -> ParsedDataset:
        """Parse rows whose columns have these names."""
        if written_as == "inline":
            items = to_mappings(rows, names)
            return parse_inline(items, limits or ParsingLimits(), columns=Named(*names))
        return self.parse(WRITERS[written_as](rows, names), limits, names)

    def refuse_rows(self, rows: Sequence[Row], written_as: str, limits: ParsingLimits | None = None) -> InvalidDataset:
        with pytest.raises(InvalidDataset) as refusal:
            self.parse_rows(rows, written_as, limits)
        return refusal.value


def to_mappings(rows: Sequence[Row], names: Names = NAMES) -> list[dict[str, object]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def write_csv(rows: Sequence[Row], names: Names = NAMES) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    return file.getvalue().encode()


def write_jsonl(rows: Sequence[Row], names: Names = NAMES) -> bytes:
    return "".join(f"{json.dumps(item)}\n" for item in to_mappings(rows, names)).encode()


def write_parquet(rows: Sequence[Row], names: Names = NAMES) -> bytes:
    columns = [pyarrow.array([row[place] for row in rows], pyarrow.string()) for place in (0, 1)]
    return write_table(pyarrow.table(columns, names=list(names)))


def write_table(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


WRITERS: dict[str, Callable[..., bytes]] = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}
