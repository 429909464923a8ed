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

from lens_engine.reading import InvalidDataset, ParsedDataset, ParsingLimits, parse_dataset, parse_inline

Row = tuple[str | None, str | None]
FORMATS = ("csv", "jsonl", "parquet", "inline")


@dataclass(frozen=True)
class Uploads:
    """Writes content to a file that has no telling name, and parses it as a trusted file."""

    folder: Path

    def parse(self, content: bytes, limits: ParsingLimits | None = None) -> ParsedDataset:
        path = self.folder / "upload"
        path.write_bytes(content)
        return parse_dataset(path, replace(limits or ParsingLimits(), takes_parquet=True))

    def try_to_parse(self, content: bytes) -> ParsedDataset | InvalidDataset:
        try:
            return self.parse(content)
        except InvalidDataset as refusal:
            return refusal

    def refuse(self, content: bytes, limits: ParsingLimits | None = None) -> InvalidDataset:
        with pytest.raises(InvalidDataset) as refusal:
            self.parse(content, limits)
        return refusal.value

    def parse_rows(self, rows: Sequence[Row], written_as: str, limits: ParsingLimits | None = None) -> ParsedDataset:
        if written_as == "inline":
            return parse_inline(to_mappings(rows), limits or ParsingLimits())
        return self.parse(WRITERS[written_as](rows), limits)

    def parse_renamed(self, rows: Sequence[Row], written_as: str) -> ParsedDataset:
        """Parse rows whose columns are `Text` and `Class`."""
        if written_as == "inline":
            items = [{"Text": text, "Class": label} for text, label in rows]
            return parse_inline(items, ParsingLimits(), text_column="Text", label_column="Class")
        path = self.folder / "upload"
        content = WRITERS[written_as](rows).replace(b'"text"', b'"Text"').replace(b'"label"', b'"Class"')
        if written_as == "parquet":
            table = pyarrow.table({"Text": [text for text, _ in rows], "Class": [label for _, label in rows]})
            content = write_table(table)
        path.write_bytes(content)
        return parse_dataset(path, ParsingLimits.of_own_files(), text_column="Text", label_column="Class")

    def refuse_rows(self, rows: Sequence[Row], written_as: str, limits: ParsingLimits | None = None) -> InvalidDataset:
        with pytest.raises(InvalidDataset) as refusal:
            self.parse_rows(rows, written_as, limits)
        return refusal.value


def to_mappings(rows: Sequence[Row]) -> list[dict[str, object]]:
    return [{"text": text, "label": label} for text, label in rows]


def write_csv(rows: Sequence[Row]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label"), *rows])
    return file.getvalue().encode()


def write_jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(f"{json.dumps(item)}\n" for item in to_mappings(rows)).encode()


def write_parquet(rows: Sequence[Row]) -> bytes:
    texts = pyarrow.array([text for text, _ in rows], pyarrow.string())
    labels = pyarrow.array([label for _, label in rows], pyarrow.string())
    return write_table(pyarrow.table({"text": texts, "label": labels}))


def write_table(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
