"""Predictions of a classifier."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

from lens_engine.task.wording import show_count, show_label
from lens_engine.types import FloatArray, Shown


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted label of one text, and the probability of each label."""

    label: str
    probabilities: dict[str, float]  #: of each label, in the order of `Classifier.labels`

    @property
    def probability(self) -> float:
        """Probability of the predicted label."""
        return self.probabilities[self.label]


@dataclass(frozen=True, eq=False)
class Predictions(Shown):
    """Predicted labels, and the probability of each label; a sequence of `Prediction`."""

    labels: tuple[str, ...]  #: the predicted label of each text
    probabilities: FloatArray  #: `[texts, classes]`
    classes: tuple[str, ...]  #: every label, in the order of `Classifier.labels`

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> Prediction: ...

    @overload
    def __getitem__(self, index: slice) -> "Predictions": ...

    def __getitem__(self, index: int | slice) -> "Prediction | Predictions":
        if isinstance(index, slice):
            return Predictions(self.labels[index], self.probabilities[index], self.classes)
        shares = dict(zip(self.classes, self.probabilities[index].tolist(), strict=True))
        return Prediction(self.labels[index], shares)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[index] for index in range(len(self)))

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, as `lens classify` writes them.

        They are `label`, `probability` (that of this label), and for each label its probability, named `p_` and the
        label.
        """
        columns = {f"p_{label}": self.probabilities[:, place].tolist() for place, label in enumerate(self.classes)}
        return {"label": list(self.labels), "probability": [one.probability for one in self], **columns}

    def to_pandas(self) -> Any:
        """A DataFrame with the columns of `to_dict` and a row for each text.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            from pandas import DataFrame  # an option; no other part of the library needs pandas
        except ImportError as error:
            raise ImportError("pandas is not installed; run: pip install pandas, or take to_dict()") from error

        return DataFrame(self.to_dict())

    def __repr__(self) -> str:
        counts = ", ".join(f"{show_label(label)} {rows:,}" for label, rows in Counter(self.labels).most_common())
        return f"Predictions({show_count(len(self), 'text')}{': ' * bool(counts)}{counts})"
