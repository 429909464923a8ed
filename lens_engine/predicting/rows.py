"""Predictions for one batch of rows; a bad row gets its error in place of a label."""

from collections.abc import Sequence

from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.errors import PromptTooLong
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import Record

BATCH_ROWS = BATCH_TEXTS
"""Number of rows classified at a time. A batch is one call of the scorer, as in `Classifier.predict`, because a 16-bit
score may depend on the texts scored in the same call."""


class Prediction(Record):
    """What the classifier says about one row."""

    label: str | None = None  #: None: the row is bad
    probabilities: tuple[float, ...] = ()  #: in the order of `Classifier.labels`; empty for a bad row
    error: str | None = None
    is_cut: bool = False  #: whether the text was longer than those of the report, and was cut as they were

    @property
    def probability(self) -> float | None:
        """Probability of the predicted label; None for a bad row."""
        return max(self.probabilities, default=None)


def predict_rows(classifier: Classifier, rows: Sequence[TextRow], scorer: LabelScorer | None) -> list[Prediction]:
    """One prediction for each row, in order.

    Raises:
        ModelMismatch: the scorer is another model or another revision.
        ModelError: the model could not score the rows.
    """
    errors = {place: row.fault for place, row in enumerate(rows) if row.fault is not None}
    places = [place for place in range(len(rows)) if place not in errors]
    lengths = dict.fromkeys(places, 1)
    if scorer is not None:
        task = classifier.task.task()
        counts = scorer.count_tokens([task.render_query(rows[place].text) for place in places])
        lengths = dict(zip(places, counts, strict=True))
    errors |= {place: "the text has no tokens for this model" for place, length in lengths.items() if not length}
    good = sorted(lengths.keys() - errors.keys())
    while True:
        try:
            found = classifier.predict([rows[place].text for place in good], scorer)
            break
        except PromptTooLong:
            if scorer is None:
                raise
            # The scorer refuses the whole batch, before it computes anything, because of its longest text.
            longest = max(good, key=lambda place: lengths[place])
            errors[longest] = f"the text is too long: a prompt exceeds the model's {scorer.max_prompt_tokens:,} tokens"
            good.remove(longest)
    predictions = {
        place: Prediction(
            label=label,
            probabilities=tuple(map(float, probabilities)),
            is_cut=classifier.most_tokens is not None and lengths[place] > classifier.most_tokens,
        )
        for place, label, probabilities in zip(good, found.labels, found.probabilities, strict=True)
    }
    return [predictions.get(place) or Prediction(error=errors[place]) for place in range(len(rows))]
