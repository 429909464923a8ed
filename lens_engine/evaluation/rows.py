"""Predictions for one batch of rows; a bad row gets its error in place of a label."""

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.errors import InvalidInput, PromptTooLong
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.no_answer import find_rows
from lens_engine.types import Record

BATCH_ROWS = BATCH_TEXTS
"""Number of rows classified at a time. A batch is one call of the scorer, as in `Classifier.predict`, because a 16-bit
score may depend on the texts scored in the same call."""


NO_ANSWER = "the model gave no answer: its server refuses the text for its content, or what it says is no label"
"""Error of a row that counts as wrong."""


class Prediction(Record):
    """What the classifier says about one row."""

    label: str | None = None  #: None: the row is bad
    probabilities: tuple[float, ...] = ()
    """In the order of `Classifier.labels`, as 32-bit floats, which is how they are stored; empty for a bad row."""
    error: str | None = None
    code: str | None = None  #: of the error
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
    errors = {place: _refuse(row.fault) for place, row in enumerate(rows) if row.fault is not None}
    places = [place for place in range(len(rows)) if place not in errors]
    lengths = dict.fromkeys(places, 1)
    if scorer is not None:
        task = classifier.task.task()
        counts = scorer.count_tokens([task.render_query(rows[place].text) for place in places])
        lengths = dict(zip(places, counts, strict=True))
    errors |= {place: _refuse("the text has no tokens for this model") for place, one in lengths.items() if not one}
    good = sorted(lengths.keys() - errors.keys())
    sizes = dict[int, int]()
    while True:
        try:
            found = classifier.predict([rows[place].text for place in good], scorer)
            break
        except PromptTooLong:
            if scorer is None:
                raise
            # The scorer refuses the whole batch, before it computes anything, because of its longest prompt.
            sizes = sizes or _measure_prompts(classifier, {place: rows[place].text for place in good}, scorer)
            longest = max(good, key=lambda place: sizes[place])
            fault = f"the text is too long: a prompt exceeds the model's {scorer.max_prompt_tokens:,} tokens"
            errors[longest] = _refuse(fault, PromptTooLong.code)
            good.remove(longest)
    shares = found.probabilities.astype(np.float32).tolist()
    predictions = {
        place: Prediction(
            label=label,
            probabilities=tuple(probabilities),
            is_cut=classifier.most_tokens is not None and lengths[place] > classifier.most_tokens,
        )
        for place, label, probabilities in zip(good, found.labels, shares, strict=True)
    }
    for place in compress(good, find_rows(np.log(found.probabilities).round(6))):
        predictions[place] = _refuse(NO_ANSWER)
    return [predictions.get(place) or errors[place] for place in range(len(rows))]


def _refuse(fault: str, code: str = InvalidInput.code) -> Prediction:
    return Prediction(error=fault, code=code)


def _measure_prompts(classifier: Classifier, texts: Mapping[int, str], scorer: LabelScorer) -> dict[int, int]:
    """Number of tokens of each text as it is asked, with the demonstrations that are found for it."""
    task, asked = classifier.task.task(), classifier.cut(list(texts.values()), scorer)
    sizes = scorer.count_tokens([task.render_query(text) for text in asked])
    if classifier.retrieval is not None:
        prefixes = classifier.find_prefixes(asked)
        known = dict.fromkeys(segment for prefix in prefixes for segment in prefix)
        counts = dict(zip(known, scorer.count_tokens(list(known)), strict=True))
        sizes = [own + sum(counts[segment] for segment in prefix) for own, prefix in zip(sizes, prefixes, strict=True)]
    return dict(zip(texts, sizes, strict=True))
