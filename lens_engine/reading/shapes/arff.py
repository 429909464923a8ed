"""Tables of Weka (ARFF): a declaration of the columns, then rows with commas."""

import re
from collections.abc import Iterator
from dataclasses import replace

from lens_engine.errors import InvalidDataset
from lens_engine.reading.shapes.records import Quoting, Records
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
_BEGINNING = re.compile(r"\s*+(?:%.*+\s++)*+@relation\b", re.IGNORECASE)


def read_arff(file: TextFile) -> Table | None:
    """The table of an ARFF file; None of another file.

    Raises:
        InvalidDataset: it has no rows, or writes them as index and value.
    """
    if not _BEGINNING.match(file.head):
        return None
    names, nominal = list[str](), list[str]()
    is_sparse = has_data = False
    for _, line in file.numbered_lines():
        if has_data and not line.startswith("%"):
            is_sparse = line.startswith("{")
            break
        if found := _ATTRIBUTE.fullmatch(line):
            names.append(found[1].strip("'\""))
            nominal += [names[-1]] * found[2].startswith("{")
        has_data = has_data or line.casefold() == "@data"
    if not names or is_sparse:
        raise InvalidDataset(
            f"the file is an ARFF file {'whose rows are sparse' if is_sparse else 'without attributes'}; write it as "
            'CSV: python -c "import sys; from scipy.io import arff; import pandas; '
            "pandas.DataFrame(arff.loadarff(sys.argv[1])[0]).to_csv('rows.csv')\" FILE",
            field=file.field,
        )
    label = nominal[-1] if nominal and len(nominal) == 1 else None
    notes = (*file.dialect.notes,)
    dialect = replace(file.dialect, notes=notes)
    return Table(
        tuple(names), lambda: _read_rows(file, names), "text", dialect, "an ARFF file", None, label, has_raw_bytes=True
    )


def _read_rows(file: TextFile, names: list[str]) -> Iterator[Row]:
    lines, start = file.lines(""), 0
    for line in lines:
        start += 1
        if line.strip().casefold() == "@data":
            break
    content = (line if not line.lstrip().startswith("%") else "\n" for line in lines)
    quoting = Quoting("'", has_escapes=True)
    for record in Records(_unify(content), ",", quoting, file.limits.max_row_characters):
        number = start + record.line
        if record.fault is not None:
            yield Row(NO_CELLS, number, record.fault)
        elif record.is_blank:
            yield Row(NO_CELLS, number, empty="line")
        elif len(record.fields) != len(names):
            detail = f"has {len(record.fields):,} values for {len(names):,} attributes"
            yield Row(NO_CELLS, number, Fault("of another width than the attributes", detail))
        else:
            values = (None if value.strip() == "?" else value.strip() for value in record.fields)
            yield Row(dict(zip(names, values, strict=True)), number)


def _unify(lines: Iterator[str]) -> Iterator[str]:
    """The lines, with single quotes round the values that have double ones, and no spaces before quotes."""
    for line in lines:
        if '"' in line:
            line = re.sub(r'(^|,)\s*"((?:[^"\\]|\\.)*)"\s*(?=,|$)', _requote, line)
        yield re.sub(r",\s+'", ",'", line)


def _requote(found: re.Match[str]) -> str:
    return f"{found[1]}'{found[2].replace(chr(92) + chr(34), chr(34)).replace(chr(39), chr(39) * 2)}'"
