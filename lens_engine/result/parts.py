"""The parts of a result."""

from typing import Any

from pydantic import Field

from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Use
from lens_engine.result.examples import SupportExample
from lens_engine.retrieval.form import PromptForm
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.paid import Paid, find_paid_scorer
from lens_engine.types import Record


class Spread(Record):
    """Distribution of accuracy over several permutations, all judged on the same n rows."""

    mean: float = Field(description="Mean accuracy.")
    sd: float = Field(description="Sample standard deviation of the accuracies; 0 for one permutation.")
    min: float = Field(description="Lowest accuracy.")
    max: float = Field(description="Highest accuracy.")
    permutations: int = Field(description="Number of permutations judged.")
    n: int = Field(description="Number of rows on which each permutation was judged.")


class LabelBias(Record):
    """A number to add to the log-probability of a label word before the likeliest one is taken."""

    label: str = Field(description="Label, as in the dataset.")
    bias: float = Field(description="Bias (nats).")


class TriedForm(Record):
    """A form of the prompt that was judged."""

    form: PromptForm = Field(description="How the demonstrations are found.")
    accuracy: float = Field(description="Accuracy of the likeliest label word on the rows on which it was judged.")
    n: int = Field(description="Number of these rows; a form that was dropped has fewer.")


class TriedWording(Record):
    """A template with an instruction that was judged."""

    template: str = Field(description="Pattern with one {text} followed by one {label}.")
    instruction: str = Field(description="Text that stands once before the demonstrations; empty for none.")
    accuracy: float = Field(
        description="Mean accuracy of random permutations, for the use asked for, on the rows on which it was judged."
    )
    n: int = Field(description="Number of these rows; a wording that was dropped has fewer.")


class PromptContender(Record):
    """A single prompt that was compared, and how often it is right."""

    method: str = Field(description="Method that chose the prompt, or the kind of its form.")
    form: PromptForm = Field(PromptForm(), description="How its demonstrations are found.")
    rows: tuple[int, ...] = Field(description="Rows of the demonstrations, in order.")
    judged: Accuracy | None = Field(
        description="Accuracy on validation and confirmation rows together, which decides. Optimistic: the maximum "
        "over several permutations."
    )
    test: Quality | None = Field(description="Quality on the test rows; null if it was not tested.")


class Comparison(Record):
    """Paired comparison of the method with random-and-validation on the test rows: exact McNemar test."""

    only_own_right: int = Field(description="Number of test rows that only the prompt of the method has right.")
    only_rival_right: int = Field(description="Number of test rows that only random-and-validation has right.")
    p_value: float = Field(description="p-value, two-sided.")
    permutations: int = Field(
        description="Number of random permutations. They take as many pairs as the method, filtering included."
    )


class BestAnswer(Record):
    """The most often right of a prompt and the classifier to use, by rows that are no test rows."""

    name: str = Field(description="Method of the prompt, or `name` in `tested` of the classifier to use.")
    test: Quality | None = Field(description="Quality on the test rows; null if it was not tested.")


class SupportExamples(Record):
    """The best single prompt for one use."""

    use: Use = Field(
        description="How the prompt is read. prompt: the likeliest label word is the answer. probabilities: the label "
        "biases are added to the log-probabilities first."
    )
    method: str = Field(description="Method that chose the prompt, or the kind of its form.")
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
        description="Bias of each label; none if the prompt was judged on no rows."
    )
    judged: Accuracy | None = Field(
        description="Accuracy for this use on validation and confirmation rows together. Optimistic: the maximum over "
        "the permutations that were compared on them."
    )
    without_biases: Quality | None = Field(description="Quality on the test rows, without label biases.")
    with_biases: Quality | None = Field(description="Quality on the test rows, with label biases.")
    contenders: tuple[PromptContender, ...] = Field(
        description="The prompt of the method first, then those it was compared with, each for this use."
    )
    comparison: Comparison | None = Field(
        description="The prompt of the method against random-and-validation; null if it was not compared."
    )
    recommended: bool | None = Field(
        description="False if the classifier to use is more often right, by more than a standard error on rows that "
        "are no test rows, or on the test rows of a prompt that was judged on no others; null if nothing was compared."
    )
    best: BestAnswer | None = Field(
        None,
        description="The classifier to use where the prompt is not recommended, or else the prompt; null "
        "without a classifier.",
    )
    reason: str = Field(description="How often the prompt and what it was compared with are right.")

    @property
    def plain(self) -> "SupportExamples":
        """The best prompt of fixed demonstrations."""
        return self.fixed or self

    @property
    def test(self) -> Quality | None:
        """Quality on the test rows for this use."""
        return self.without_biases if self.use == "prompt" else self.with_biases

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the examples, in order."""
        return tuple(example.row for example in self.examples)


class TestAnswers(Record):
    """What prompt and classifier answer on each test row. A label is given as its place in `task.label_words`."""

    __test__ = False  # pytest would collect the class

    rows: tuple[int, ...] = Field(description="Row numbers, in the test rows or in the dataset they were held out of.")
    gold: tuple[int, ...] = Field(description="Labels of the rows.")
    support_examples: tuple[tuple[int, ...] | None, ...] = Field(
        description="Answers of each of `support_examples`, for its use; null if it was not tested."
    )
    classifier: tuple[int, ...] | None = Field(description="Answers of the classifier to use; null without one.")
    support_examples_probabilities: tuple[tuple[float, ...] | None, ...] | None = Field(
        None,
        description="Probability of each answer in `support_examples`; null for a model that tells none, and in "
        "results of earlier releases.",
    )
    classifier_probabilities: tuple[float, ...] | None = Field(
        None,
        description="Probability of each answer in `classifier`; null without one, and in results of earlier releases.",
    )


class Verdict(Record):
    """Which classifier to use, and why; without one, how to get one."""

    sentence: str = Field(description="What to use and why; if the run ended early, after the reason.")


class Lead(Record):
    """Lead of the method's best permutation over its runner-up, on the rows that decided."""

    rows: int = Field(description="Correct rows of the chosen permutation minus correct rows of the runner-up.")
    n: int = Field(description="Number of rows that ranked the two permutations.")
    close_rows: int = Field(
        description="Number of rows whose prediction could flip through rounding, against the chosen permutation."
    )
    within_noise: bool = Field(description="True if rounding errors alone could swap the two permutations.")


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
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the dataset, in order.")
    test_sha256: str | None = Field(
        description="SHA-256 of the texts and labels of the test rows; null if test rows were held out of the dataset."
    )
    config: dict[str, Any] = Field(description="Value of every option.")


class Splits(Record):
    """Number of rows in each split. No row is in two splits."""

    candidates: int = Field(description="Number of rows from which the demonstrations were chosen.")
    score_set: int = Field(description="Number of rows on which filtering computed InfoScores.")
    validation: int = Field(description="Number of rows on which the search ranked permutations.")
    confirmation: int = Field(description="Number of rows on which the last beam was judged again.")
    test: int = Field(description="Number of rows for the report, which no earlier step used.")
    unused: int = Field(description="Number of rows beyond `filtering.candidates`, which no split needed.")
    duplicates_dropped: int = Field(description="Number of rows dropped because their text occurred before.")
    conflicting_texts: int = Field(
        description="Number of texts that occurred with more than one label; all their rows were dropped."
    )
    leaked_from_test: int = Field(
        description="Number of dataset rows dropped because the test rows contain the same text."
    )
    skipped_too_long: int = Field(0, description="Number of rows left out because of too long texts.")
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
        asked = find_paid_scorer(scorer)
        if asked is None:
            return None
        usd = None if asked.spending.prices is None else paid.usd
        return cls(requests=paid.requests, tokens=paid.tokens, cached_tokens=paid.cached_tokens, usd=usd)


class Spending(Record):
    """Cost of the run, with all attempts of a resumed run. `seconds` excludes loading the model."""

    pairs: int = Field(description="Number of pairs scored; a pair is one prefix and one query.")
    tokens: int = Field(description="Tokens scored; a prefix counts once per call; cached pairs included.")
    seconds: float = Field(description="Wall-clock time (seconds).")
    pairs_from_cache: int = Field(0, description="Number of pairs whose scores came from an earlier run.")
    permutations_judged: int = Field(
        description="Number of permutations that the search judged, on all rows or on some."
    )
    permutations_dropped: int = Field(
        0, description="Number of judged permutations that were dropped before the last validation row."
    )
    token_budget: int | None = Field(
        None,
        description="Maximum number of tokens of one forward at the end of the run; halved each time memory ran out.",
    )
    paid: Payment | None = Field(
        None, description="What the server of the model was asked and paid; null for a model on the machine of the run."
    )
