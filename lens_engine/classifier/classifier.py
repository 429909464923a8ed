"""The classifier: a task, the prompts it asks and a head. A bag of words is a classifier without prompts.

`Classifier.save` writes it as JSON, and `Classifier.load` reads the same classifier again, to the bit.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
from pydantic import Field, ValidationError, computed_field, model_validator

from lens_engine.classifier.heads import (
    BagOfWordsHead,
    EmbeddingsHead,
    Head,
    StatesAndWordsHead,
    StatesHead,
    fits_shape,
)
from lens_engine.classifier.quality import Quality
from lens_engine.disk import replace_file
from lens_engine.errors import ClassifierUnreadable, ModelMismatch
from lens_engine.model.base import SERVER, LabelScorer, OpenModel, Prefix, ScorerIdentity, find_scorer
from lens_engine.prompt.embedder import open_recorded
from lens_engine.prompt.examples import list_texts
from lens_engine.prompt.pool import PromptRenderer, Retrieval
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.rows.context import TextCutter
from lens_engine.types import POOLINGS, FloatArray, LabelLogProbs, Record


class Prompt(Record):
    """A permutation, rendered after the instruction of the task, if it has one."""

    rows: tuple[int, ...] = Field(description="Rows of the demonstrations in the dataset, in order.")
    demonstrations: tuple[str, ...] = Field(
        description="Rendered instruction, if there is one, and demonstrations. Joined, they begin the prompt."
    )

    @property
    def text(self) -> str:
        """The beginning of the prompt; the rendered input follows."""
        return "".join(self.demonstrations)


class ModelRecord(Record):
    """The language model whose log-probabilities the head was fitted on."""

    model: str = Field(description="Name of the model.")
    revision: str = Field(description="Revision of the model's files: a SHA-256, or a commit of the Hugging Face hub.")
    dtype: str = Field(description="Precision of the model: float32, bfloat16 or float16.")
    device: str = Field(description="Device on which the model ran.")

    @classmethod
    def of(cls, identity: ScorerIdentity) -> "ModelRecord":
        return cls(model=identity.model, revision=identity.revision, dtype=identity.dtype, device=identity.device)


class InputFormat(Record):
    """Column and dialect of the texts, so that the next file of the same kind is read without being told."""

    text_column: str | tuple[str, ...] = Field(
        description="Name of the column of texts; or of several, whose texts are joined."
    )
    delimiter: str | None = Field(None, description="Delimiter of a CSV file; null for a file without delimiters.")
    encoding: str | None = Field(None, description="Encoding of the file.")


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
class Predictions:
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

    def __repr__(self) -> str:
        counts = ", ".join(f"{show_label(label)} {rows:,}" for label, rows in Counter(self.labels).most_common())
        return f"Predictions({show_count(len(self), 'text')}{': ' * bool(counts)}{counts})"


BATCH_TEXTS = 256
"""Number of texts asked at a time."""

_MAX_LABELS = 10
"""Largest number of labels that `repr` names."""


class Classifier(Record):
    """A text classifier: prompts for a language model, and a head on what the model says after them.

    The head `states` reads a hidden state of the model after one prompt. The head `bag_of_words` looks at the words of
    a text alone, the head `embeddings` at its sentence embedding; they have no prompts. The head `states_and_words`
    looks at the state and the words. Other heads read the log-probabilities of the label words after one prompt.
    """

    schema_version: Literal[1] = Field(1, description="Version of this format.")
    task: TaskRecord = Field(description="Template, label words, separator and instruction.")
    prompts: tuple[Prompt, ...] = Field(
        description="The prompt that is asked for every text; none for words or embeddings."
    )
    head: Head = Field(description="Formula that gives the probabilities of the labels.")
    fit_rows: int = Field(description="Number of rows on which the head was fitted.")
    model: ModelRecord | None = Field(
        description="The language model on which the head was fitted; null without prompts."
    )
    tokens_per_input: float = Field(
        description="Mean number of tokens computed for one input, where all demonstrations are held in memory."
    )
    tokens_held: int = Field(0, description="Number of tokens of the prompt's demonstrations, computed once.")
    most_tokens: int | None = Field(
        None, description="Number of tokens of a rendered text above which it is cut, as in the report; null for never."
    )
    quality: Quality | None = Field(
        None, description="Quality on the test rows of the selection, or else by cross-validation: a little too high."
    )
    retrieval: Retrieval | None = Field(
        None,
        exclude_if=lambda retrieval: retrieval is None,
        description="How each input gets demonstrations of its own, after those of the only prompt; left out if every "
        "input gets the same.",
    )
    input: InputFormat | None = Field(
        None, description="Column and dialect of the file of the selection; null if it was made of no file."
    )
    dataset_sha256: str | None = Field(None, description="SHA-256 of the texts and labels that made it, in order.")

    @model_validator(mode="after")
    def has_a_head_of_its_shape(self) -> Self:
        if not fits_shape(self.head, len(self.prompts), len(self.labels)):
            raise ValueError(
                f"the head's coefficients are not for {len(self.prompts)} prompts and {len(self.labels)} labels"
            )
        if self.retrieval is not None and self.head.kind not in ("argmax", "prior"):
            raise ValueError("demonstrations are found for each input of a prompt whose head is argmax or prior")
        if (self.model is None) != (not self.prompts):
            raise ValueError("a classifier names its model if it has prompts, and only then")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the order of the probabilities."""
        return self.task.labels

    @computed_field(  # type: ignore[prop-decorator]
        description="Whether the head holds words of the texts on which it was fitted. The option `classifier.kind` "
        "`states` makes a classifier without them. Prompts hold whole texts in any case."
    )
    @property
    def holds_words(self) -> bool:
        return self.head.kind in ("bag_of_words", "states_and_words")

    @model_validator(mode="before")
    @classmethod
    def _without_what_follows(cls, values: Any) -> Any:
        """The fields without `holds_words`, which follows from the head."""
        return {name: values[name] for name in values if name != "holds_words"} if isinstance(values, dict) else values

    def __repr__(self) -> str:
        model = "no language model" if self.model is None else f"model {self.model.model}"
        prompts = show_count(len(self.prompts), "prompt")
        labels = ", ".join(map(show_label, self.labels[:_MAX_LABELS])) + ", …" * (len(self.labels) > _MAX_LABELS)
        return f"Classifier({self.head.kind} head, {prompts}, labels {labels}, {model})"

    __str__ = __repr__  # pydantic writes every field

    def save(self, path: str | Path) -> None:
        """Write the classifier as JSON; an existing file is replaced whole or not at all."""
        replace_file(Path(path), (self.model_dump_json(indent=2) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> "Classifier":
        """Read a file that `save` wrote.

        Raises:
            ClassifierUnreadable: the file is no classifier of this `schema_version`; the message names the first fault.
            OSError: the file cannot be read.
        """
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except ValidationError as error:
            if hint := _name_other_file(Path(path)):
                raise ClassifierUnreadable(f"{path} is {hint}", field="classifier") from error
            first = error.errors()[0]
            where, said = ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
            fault = f"{where}: {said}" if where else said
            raise ClassifierUnreadable(
                f"{path} is not a classifier that Lens can read: {fault}", field="classifier"
            ) from error

    def cut(self, texts: Sequence[str], scorer: LabelScorer) -> list[str]:
        """The texts, the long ones cut as in the report; the others are the same strings."""
        if self.most_tokens is None:
            return list(texts)
        task = self.task.task()
        cutter = TextCutter(task, scorer.count_tokens, self.most_tokens)
        lengths = scorer.count_tokens([task.render_query(text) for text in texts])
        return [cutter.cut(text, length) for text, length in zip(texts, lengths, strict=True)]

    def predict(self, texts: Iterable[str], scorer: LabelScorer | OpenModel | None = None) -> Predictions:
        """Classify texts.

        Args:
            texts: any number of texts: a list, tuple, array `[texts]` or Series of strings. Long ones are cut as in
                the report, but for a bag of words alone.
            scorer: the model that the head was fitted on, from `open_model`. A classifier without prompts needs none.

        Raises:
            ModelMismatch: the scorer or the embedder is another model or another revision, or the scorer is missing.
            UnknownModel, InvalidConfig: the embedder, or a package that it needs, is missing.
            PromptTooLong: a prompt exceeds the model's context.
            InvalidDataset: a text is empty, or `texts` is a table; the message names the text by its index.
            TypeError: `texts` is a single string, or holds something that is no string.
        """
        scorer = None if scorer is None else find_scorer(scorer)
        self.check_model(scorer)
        asked = list_texts(texts)
        batches = (asked[start : start + BATCH_TEXTS] for start in range(0, len(asked), BATCH_TEXTS))
        found = [self.class_log_probs(batch, scorer) for batch in batches]
        log_probs = np.concatenate(found) if found else np.empty((0, len(self.labels)))
        labels = tuple(self.labels[index] for index in log_probs.argmax(axis=1))
        return Predictions(labels, np.exp(log_probs), self.labels)

    def class_log_probs(self, texts: Sequence[str], scorer: LabelScorer | None) -> FloatArray:
        """`[texts, labels]`, natural log of the class probabilities; all texts in one call of the scorer.

        Raises:
            ModelMismatch: the scorer is missing, shows no hidden states, and the head needs it; or it is asked by turns
                of a chat, and the classifier is not, or the reverse.
        """
        head, task = self.head, self.task.task()
        if isinstance(head, BagOfWordsHead):
            return head.bag_of_words.class_log_probs(texts)
        if isinstance(head, EmbeddingsHead):
            return head.class_log_probs(open_recorded(head.embedder).embed(texts))
        if scorer is None:
            raise self._mismatch("give the model")
        if scorer.takes_turns != (self.task.chat is not None):
            asked, made = ("turns", "one text") if self.task.chat is None else ("one text", "turns")
            raise self._mismatch(f"{scorer.identity.model} is asked by {asked}, and the prompts are {made}")
        texts = self.cut(texts, scorer)
        queries = [task.render_query(text) for text in texts]
        if not isinstance(head, StatesHead | StatesAndWordsHead):
            return head.class_log_probs(self._ask(texts, queries, scorer, task))
        if not scorer.num_layers:
            raise self._mismatch("the classifier reads the model from within; load the weights of the model")
        reads = head if isinstance(head, StatesHead) else head.states
        found = scorer.states(self.prompts[0].demonstrations, queries, (reads.layer,))
        states = found[0, POOLINGS.index(reads.pooling)].astype(np.float64)
        return head.class_log_probs(states) if isinstance(head, StatesHead) else head.class_log_probs(states, texts)

    def _ask(self, texts: Sequence[str], queries: Sequence[str], scorer: LabelScorer, task: Task) -> LabelLogProbs:
        """`label_log_probs  # [one, texts, labels]`."""
        if self.retrieval is None:
            return scorer.score([self.prompts[0].demonstrations], queries, task.label_spans)
        return scorer.score_pairs(self.find_prefixes(texts), queries, task.label_spans)[np.newaxis]

    def find_prefixes(self, texts: Sequence[str]) -> list[Prefix]:
        """What the prompt has before each text: its demonstrations, then those found for the text, if any are."""
        return [one.segments for one in self.renderer.begin(texts)]

    @property
    def renderer(self) -> PromptRenderer:
        """The prompt, ready to render inputs."""
        (prompt,) = self.prompts
        return PromptRenderer(self.task.task(), prompt.demonstrations, prompt.rows, self.retrieval)

    def check_model(self, scorer: LabelScorer | None) -> None:
        """
        Raises:
            ModelMismatch: the model is missing, or another than the one that the head was fitted on.
        """
        if self.model is None:
            return
        if scorer is None:
            raise self._mismatch("give the model (see `open_model`)")
        identity = scorer.identity
        if identity.revision != self.model.revision:
            remedy = (
                "a server that has another model, version or tokenizer is another revision; make the classifier anew"
                if identity.device == self.model.device == SERVER
                else "load the model that the classifier names"
            )
            raise self._mismatch(f"the model is {identity.model} (revision {identity.revision[:12]}); {remedy}")

    def _mismatch(self, what: str) -> ModelMismatch:
        model = self.model
        made_for = "no model" if model is None else f"{model.model} (revision {model.revision[:12]})"
        return ModelMismatch(f"the classifier was made for {made_for}: {what}", field="model")


def _name_other_file(path: Path) -> str | None:
    """What a file is that is no classifier; None for one that looks like one."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and "support_examples" in found:
        return "a result; save its field `classifier` as a file of its own"
    if isinstance(found, dict) and {"code", "title", "detail"} <= found.keys():
        return f"an error that the service answered, no classifier: {found['detail']}"
    if not (isinstance(found, dict) and "head" in found):
        return "no classifier file; give the file that `lens select --classifier` wrote"
    return None
