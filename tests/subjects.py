"""Classifiers that are asked at once, and models for them that need no torch."""

import time
from concurrent.futures import Future

from app.answers.answering import Answering
from app.answers.models import ModelKey, Opened
from app.answers.remote import Subject
from app.errors import Unavailable
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt
from lens_engine.classifier.heads import ArgmaxHead
from lens_engine.errors import UnknownModel
from lens_engine.evaluation.batches import Prediction
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task, Template, Verbalizer
from lens_engine.testing import TableScorer
from lens_engine.types import Example

TASK = Task(Template("{text}. It was {label}"), Verbalizer({"good": "great", "bad": "terrible"}))


def make_classifier(scorer: LabelScorer, mark: str = "a") -> Classifier:
    """Two demonstrations, of which the first has this mark, and the label words as they are."""
    examples = [Example(row, f"demonstration {mark} {row} " * 4, "good") for row in range(2)]
    return Classifier(
        task=TaskRecord.of(TASK),
        prompts=(Prompt(rows=(0, 1), demonstrations=TASK.render_prefix(examples)),),
        head=ArgmaxHead(),
        fit_rows=2,
        model=ModelRecord.of(scorer.identity),
        tokens_per_input=1.0,
    )


def ask(answering: Answering, subject: Subject, texts: list[str]) -> "Future[list[Prediction]]":
    """Ask, once the model is open."""
    while True:
        try:
            return answering.ask(subject, texts)
        except Unavailable:
            time.sleep(0.005)


class Tables:
    """Opens tables as models, by their names."""

    def __init__(self, sizes: dict[str, int], **scorers: TableScorer) -> None:
        self.sizes = sizes
        self.scorers = {name: scorers.get(name, TableScorer(name=name)) for name in sizes}
        self.opened: list[str] = []
        self.freed = 0

    def weigh(self, key: ModelKey) -> int:
        if key.name not in self.sizes:
            raise UnknownModel(f"there is no {key.name}")
        return self.sizes[key.name]

    def open(self, key: ModelKey) -> Opened:
        self.opened.append(key.name)
        return Opened(self.scorers[key.name], self.sizes[key.name])

    def free(self) -> None:
        self.freed += 1


def make_slow_table() -> TableScorer:
    """A model of `LENS_ALLOWED_MODELS` that takes its time for each batch."""
    return TableScorer(before_call=lambda _: time.sleep(0.3))
