"""Suspicious labels as CSV, for whoever looks at the rows."""

import csv
import io
from collections.abc import Iterable, Mapping

from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.exports.csv_file import escape_cell


def write_suspicious_labels(found: Iterable[SuspiciousLabel], texts: Mapping[int, str]) -> str:
    """A row for each suspicious label, with its text.

    Args:
        texts: of the dataset, by row.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(("row", "text", "label", "likelier", "probability", "probability_of_likelier"))
    for one in found:
        words = map(escape_cell, (texts[one.row], one.label, one.likelier))
        writer.writerow((one.row, *words, round(one.probability, 4), round(one.probability_of_likelier, 4)))
    return file.getvalue()
