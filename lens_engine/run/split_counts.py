"""How many rows each split has."""

from lens_engine.result import Splits
from lens_engine.rows.splits import SplitRows


def count_splits(rows: SplitRows) -> Splits:
    """The sizes of the splits, and what was left out of them."""
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
        skipped_too_long=rows.skipped_too_long,
        trimmed_too_long=rows.trimmed_too_long,
    )
