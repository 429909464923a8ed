"""The parts of a result."""

from typing import Any, Literal

from pydantic import Field

from lens_engine.classifier.classifier import ModelRecord
from lens_engine.classifier.quality import Accuracy, MeasuredQuality, Quality
from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.model.base import LabelScorer
from lens_engine.model.spending import Paid
from lens_engine.prompt.pool import Pool, PromptForm, PromptRenderer, Retrieval
from lens_engine.prompt.record import TaskRecord
from lens_engine.types import Example, HeadlineKind, Record


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
        None, description="`info_score` by label of the input, for the labels of the score set; null where it is null."
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

    rival: str = Field(
        description="zero_shot: no examples. words: word counting. embeddings: sentence embeddings. random: a random "
        "set of examples."
    )
    chance: float = Field(description="Share of the samples of rows in which the choice is better, between 0 and 1.")


class Estimate(Accuracy):
    """What to expect of a choice on new texts: its figure without the optimism of choosing, by cross-validation.

    Tsamardinos, Greasidou & Borboudakis (Machine Learning 107, 2018).
    """

    naive: float = Field(description="Accuracy on the rows that chose it, which is too high in the mean.")
    beats: tuple[Chance, ...] = Field((), description="How likely it is better than each rival.")
    more_rows: float | None = Field(
        None,
        description="By how much 50 more labelled rows would raise accuracy or macro-F1; null if that cannot be told.",
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
    is_dropped: bool = Field(
        False,
        description="Whether it was dropped, or the run ended, before it was judged on the rows of the first choice.",
    )
    test: Quality | None = Field(None, description="Quality on the test rows; null if it was not asked for them.")
    tokens: float = Field(description="Mean number of tokens of an answer that differ from input to input.")
    tokens_held: float = Field(
        description="Number of tokens that are the same for every input, computed once or read from a cache."
    )
    usd: float | None = Field(
        None, description="Price of 1,000 answers by the prices of the server (USD); null without prices."
    )

    @property
    def headline(self) -> HeadlineKind:
        """A prompt, word counting, or another classifier."""
        if self.kind == "prompt":
            return "prompt"
        return "words" if self.method == "bag_of_words" else "classifier"


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
        description="Bias of each label, from all judging rows; none if the prompt is read without them."
    )
    judged: Quality | None = Field(
        description="Quality for this use on the judging rows that it does not show. The best of many is too high: "
        "`estimate` is what to expect."
    )
    estimate: Estimate | None = Field(description="What to expect of new texts; null if nothing was judged.")
    test: Quality | None = Field(description="Quality on the test rows; null without test rows.")
    recommended: bool | None = Field(
        description="True if the prompt is the first choice of the run. False if that choice is clearly better (paired "
        "test at 5 %). Null if that cannot be told."
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
    """What prompt and classifier answer on each row of the report: the test rows, or else judging and search rows.

    On rows of the dataset the answers are by cross-validation. A label is given as its place in `task.label_words`.
    """

    is_test: bool = Field(description="Whether the rows are test rows; otherwise they are rows of the dataset.")
    rows: tuple[int, ...] = Field(description="Row numbers, in the test rows or in the dataset.")
    gold: tuple[int, ...] = Field(description="Labels of the rows.")
    support_examples: tuple[tuple[int | None, ...] | None, ...] = Field(
        description="Answers of each of `support_examples`, for its use; null for a row that the prompt shows, for a "
        "search row, and if it was asked for no row."
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


class Provenance(Record):
    """Everything needed to repeat the run."""

    lens: str = Field(description="Version of Lens.")
    model: str = Field(description="Name of the model.")
    revision: str = Field(description="Revision of the model's files: a SHA-256, or a commit of the Hugging Face hub.")
    dtype: str = Field(description="Precision of the model: float32, bfloat16 or float16.")
    device: str = Field(description="Device on which the model ran.")
    device_name: str | None = Field(
        None, description="Name of the GPU on which the model ran; null on a processor.", examples=["NVIDIA H200"]
    )
    executor: str = Field(description="How the model was given the prompts: packed, cached or plain.")
    executor_note: str | None = Field(
        None,
        description="Why faster executors were refused for this model, and how calls run with prompts that exceed the "
        "window of its sliding attention; null if there is nothing to say. Not part of `digest`.",
    )
    seed: int = Field(description="Seed of every random choice.")
    dataset: str | None = Field(
        None,
        exclude_if=lambda name: name is None,
        description="Name of the dataset, for the head of a report; left out if it is not known. Not part of `digest`.",
    )
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the dataset, in order.")
    test_sha256: str | None = Field(
        description="SHA-256 of the texts and labels of the test rows; null without test rows."
    )
    config: dict[str, Any] = Field(description="Value of every option.")


class RowCounts(Record):
    """Number of rows of each kind."""

    labelled: int = Field(description="Number of labelled rows that are used: each may be a demonstration.")
    search: int = Field(description="Number of rows on which LENS searched; 0 without a search.")
    judging: int = Field(description="Number of rows on which every contender was judged.")
    test: int = Field(description="Number of test rows; 0 without a file of test rows.")
    duplicates_dropped: int = Field(description="Number of rows dropped because their text occurred before.")
    conflicting_texts: int = Field(
        description="Number of texts that occurred with more than one label; all their rows were dropped."
    )
    leaked_from_test: int = Field(
        description="Number of dataset rows dropped because the test rows contain the same text."
    )
    near_test_rows: int = Field(
        0,
        description="Number of test rows whose text is nearly equal to that of a labelled row: a cosine of "
        " their sets of five characters of at least 0.85. Of very many rows, a sample is compared.",
    )
    skipped_too_long: int = Field(0, description="Number of rows left out because their texts are equal after the cut.")
    trimmed_too_long: int = Field(0, description="Number of rows whose text was cut because of its length.")


class Payment(Record):
    """What the server of a model was asked, and what it cost. Checks at connection are not in it."""

    requests: int = Field(description="Number of requests that the server answered.")
    tokens: int = Field(description="Number of tokens of prompts, as the server counted.")
    cached_tokens: int = Field(description="Number of these tokens that the server had in its cache.")
    usd: float | None = Field(description="Cost by the prices of the endpoint (USD); null without prices.")

    @classmethod
    def of(cls, paid: Paid, scorer: LabelScorer) -> "Payment | None":
        """What was paid for a scorer; None for a model on this machine."""
        if scorer.spending is None:
            return None
        usd = None if scorer.spending.prices is None else paid.usd
        return cls(requests=paid.requests, tokens=paid.tokens, cached_tokens=paid.cached_tokens, usd=usd)


class Spending(Record):
    """Cost of the run, with all attempts of a resumed run. `seconds` excludes loading the model."""

    pairs: int = Field(description="Number of pairs scored; a pair is one prefix and one query.")
    tokens: int = Field(description="Tokens scored; a prefix counts once per call; cached pairs included.")
    seconds: float = Field(description="Wall-clock time (seconds).")
    pairs_from_cache: int = Field(0, description="Number of pairs whose scores came from an earlier run.")
    pairs_saved: int = Field(0, description="Pairs of the judging that were not asked: their prompts could hardly win.")
    permutations_judged: int = Field(description="Number of permutations that the search of LENS ranked.")
    token_budget: int | None = Field(
        None,
        description="Maximum number of tokens of one forward at the end of the run; halved each time memory ran out.",
    )
    paid: Payment | None = Field(
        None, description="What the server of the model was asked and paid; null for a model on the machine of the run."
    )


def find_renderer(record: TaskRecord, answer: SupportExamples, pool: Pool | None) -> PromptRenderer:
    """The prompt of support examples, of any form.

    Raises:
        InvalidConfig: the prompt finds demonstrations for each input, and the pool is missing.
    """
    examples = [one.example for one in answer.examples]
    if not answer.form.nearest:
        return PromptRenderer.of(record.task(), examples, None)
    if pool is None:
        raise InvalidConfig(
            f"the prompt has the form {answer.form.name}, and the result has not the pool in which it finds rows",
            field="result",
        )
    return PromptRenderer.of(record.task(), examples, Retrieval(form=answer.form, pool=pool))


class EvaluationResult(Record):
    """How often a classifier, or the prompt of support examples, is right on labelled rows."""

    quality: MeasuredQuality = Field(description="Quality on the rows that have an answer, with intervals.")
    unanswered: int = Field(description="Number of rows without an answer: they exceed the context of the model.")
    labels: tuple[str, ...] = Field(description="Labels, in the order of `confusion`.")
    confusion: tuple[tuple[int, ...], ...] = Field(
        description="Number of rows with each label (first index) and each answer (second index)."
    )
    prompt_form: PromptForm | None = Field(
        None, description="How the demonstrations of an input were found; null for a bag of words."
    )
    prompts: int = Field(description="Number of prompts asked for one row.")
    model: ModelRecord | None = Field(description="The language model that was asked; null for a bag of words.")
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the rows, in order.")
    warnings: tuple[str, ...] = Field((), description="What may surprise.")
