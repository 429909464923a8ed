"""The parts of a result."""

from typing import Literal

from pydantic import Field

from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Use
from lens_engine.retrieval.form import PromptForm
from lens_engine.types import Example, Record


class LabelEffect(Record):
    """How much an example helps inputs of one label as the only demonstration."""

    label: str = Field(description="Label of the inputs.")
    effect: float = Field(description="Mean gain over the rows of the score set that have this label.")
    rows: int = Field(description="Number of these rows.")


class SupportExample(Record):
    """One demonstration of the chosen permutation."""

    position: int = Field(description="Position in the prompt, counted from 0.")
    row: int = Field(description="Number of the example's data row in the dataset, counted from 0.")
    text: str = Field(description="Text of the example.")
    label: str = Field(description="Label of the example.")
    label_word: str = Field(description="Label word that stands for the label in the prompt.")
    info_score: float | None = Field(
        description="How much the example helps as the only demonstration: the mean gain over the score set. Higher is "
        "better; null if the method does not compute it."
    )
    tokens: int = Field(description="Number of tokens of the rendered demonstration.")
    effects: tuple[LabelEffect, ...] | None = Field(
        None,
        description="`info_score` by label of the input, for the labels of the score set; null where it is null.",
    )

    @property
    def example(self) -> Example:
        """The labelled text alone."""
        return Example(self.row, self.text, self.label)


class LabelBias(Record):
    """A number to add to the log-probability of a label word before the likeliest one is taken."""

    label: str = Field(description="Label, as in the dataset.")
    bias: float = Field(description="Bias (nats).")


class Chance(Record):
    """How likely the choice is better than a rival."""

    rival: str = Field(description="zero_shot: no examples. words: word counting. random: a random set of examples.")
    chance: float = Field(description="Share of the samples of rows in which the choice is better, between 0 and 1.")


class Estimate(Accuracy):
    """What to expect of a choice on new texts: its figure without the optimism of choosing, by cross-validation.

    Tsamardinos, Greasidou & Borboudakis (Machine Learning 107, 2018).
    """

    naive: float = Field(description="Accuracy on the rows that chose it, which is too high in the mean.")
    beats: tuple[Chance, ...] = Field((), description="How likely it is better than each rival.")
    more_rows: float | None = Field(
        None, description="By how much 50 more labelled rows would raise the accuracy; null if that cannot be told."
    )


class Contender(Record):
    """One way to answer, and how often it is right."""

    name: str = Field(description="Name; a prompt has the same for each use.")
    kind: Literal["prompt", "classifier"] = Field(description="Whether it is a prompt, or a classifier.")
    method: str = Field(
        description="Where it comes from. zero_shot: no examples. random, spread: a drawn set. lens: a set of the "
        "search. many: a large random set. nearest: rows like the input. Of a classifier, what it reads."
    )
    wording: int = Field(0, description="Place of its template and instruction among `wordings`, from 0.")
    form: PromptForm = Field(PromptForm(), description="How its demonstrations are found.")
    rows: tuple[int, ...] = Field((), description="Rows of its fixed demonstrations, in order.")
    use: Use | None = Field(None, description="How a prompt is read: with label biases for probabilities.")
    judged: Accuracy | None = Field(
        description="Accuracy on the judging rows that it does not show; null if it was not judged. The best of many "
        "is too high."
    )
    is_dropped: bool = Field(False, description="Whether it was dropped before it was judged on every judging row.")
    test: Quality | None = Field(None, description="Quality on the test rows; null if it was not asked for them.")
    tokens: float = Field(description="Mean number of tokens of an answer that differ from input to input.")
    tokens_held: float = Field(
        description="Number of tokens that are the same for every input, computed once or read from a cache."
    )
    usd: float | None = Field(
        None, description="Price of 1,000 answers by the prices of the server (USD); null without prices."
    )


class Wording(Record):
    """A template with an instruction."""

    template: str = Field(description="Pattern with one {text} followed by one {label}.")
    instruction: str = Field(description="Text that stands once before the demonstrations; empty for none.")


class SupportExamples(Record):
    """The best single prompt for one use."""

    use: Use = Field(
        description="How the prompt is read. prompt: the likeliest label word is the answer. probabilities: the label "
        "biases are added to the log-probabilities first, where it was chosen with them."
    )
    method: str = Field(description="Where its demonstrations come from; see `contenders`.")
    form: PromptForm = Field(
        PromptForm(),
        description="How the demonstrations of an input are found. Those that are found for each input are not in "
        "`examples` and `prompt`.",
    )
    fixed: "SupportExamples | None" = Field(
        None,
        description="The best prompt of fixed demonstrations, for tools that cannot find rows for each input; null if "
        "the form is fixed.",
    )
    examples: tuple[SupportExample, ...] = Field(description="Support examples, in the order of the prompt.")
    prompt: str = Field(
        description="Beginning of the prompt, up to the input: the instruction, if there is one, and "
        "the support examples, rendered."
    )
    label_biases: tuple[LabelBias, ...] = Field(
        description="Bias of each label, from all judging rows; none if the prompt was judged on no rows."
    )
    judged: Quality | None = Field(
        description="Quality for this use on the judging rows that it does not show. The best of many is too high: "
        "`estimate` is what to expect."
    )
    estimate: Estimate | None = Field(description="What to expect of new texts; null if nothing was judged.")
    test: Quality | None = Field(description="Quality on the test rows; null without test rows.")
    recommended: bool | None = Field(
        description="True if the prompt is the first choice of the run, or as good. False if something else is clearly "
        "better (paired test at 5 %). Null if that cannot be told."
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")

    @property
    def plain(self) -> "SupportExamples":
        """The best prompt of fixed demonstrations."""
        return self.fixed or self

    @property
    def expected(self) -> Accuracy | None:
        """What to expect of new texts: the figure of the test rows, or else the estimate."""
        return self.test or self.estimate

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the examples, in order."""
        return tuple(example.row for example in self.examples)


class Answers(Record):
    """What prompt and classifier answer on each row of the report: the test rows, or else the judging rows.

    On judging rows the answers are by cross-validation. A label is given as its place in `task.label_words`.
    """

    is_test: bool = Field(description="Whether the rows are test rows; otherwise they are rows of the dataset.")
    rows: tuple[int, ...] = Field(description="Row numbers, in the test rows or in the dataset.")
    gold: tuple[int, ...] = Field(description="Labels of the rows.")
    support_examples: tuple[tuple[int | None, ...] | None, ...] = Field(
        description="Answers of each of `support_examples`, for its use; null for a row that the prompt shows, and if "
        "it was asked for no row."
    )
    fixed: tuple[tuple[int | None, ...] | None, ...] = Field(
        description="Answers of the `fixed` prompt of each of `support_examples`, for its use; null if there is none.",
    )
    classifier: tuple[int | None, ...] | None = Field(
        description="Answers of the classifier to use; null without one, and for a row that its prompt shows."
    )
    support_examples_probabilities: tuple[tuple[float | None, ...] | None, ...] = Field(
        description="Probability of each answer in `support_examples`; null for a model that tells none."
    )
    classifier_probabilities: tuple[float | None, ...] | None = Field(
        description="Probability of each answer in `classifier`; null without one."
    )


class Verdict(Record):
    """What to use first."""

    sentence: str = Field(
        description="What to use, what to expect of it, what may be as good, weak labels; if the run ended early, why."
    )
