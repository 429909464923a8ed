"""How many rows each split has."""

from lens_engine.result import Splits
from lens_engine.rows.context import FittedRows


def count_splits(fitted: FittedRows) -> Splits:
    """The sizes of the splits, and what was left out of them."""
    rows = fitted.rows
    return Splits(
        candidates=len(rows.candidates),
        score_set=len(rows.score_set),
        validation=len(rows.validation),
        confirmation=len(rows.confirmation),
        test=len(rows.test),
        unused=rows.unused,
        duplicates_dropped=rows.duplicates_dropped,
        conflicting_texts=rows.conflicting_texts,
        leaked_from_test=rows.leaked_from_test,
        skipped_too_long=fitted.skipped,
        trimmed_too_long=fitted.trimmed,
    )
