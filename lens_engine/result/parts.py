"""The parts of a result."""

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
    macro_f1: float = Field(description="Macro-F1 on the same rows.")
    n: int = Field(description="Number of these rows; a form that was dropped has fewer.")


class TriedWording(Record):
    """A template with an instruction that was judged."""

    template: str = Field(description="Pattern with one {text} followed by one {label}.")
    instruction: str = Field(description="Text that stands once before the demonstrations; empty for none.")
    accuracy: float = Field(
        description="Mean accuracy of random permutations, for the use asked for, on the rows on which it was judged."
    )
    macro_f1: float = Field(description="Mean macro-F1 of the same permutations.")
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


class HitComparison(Record):
    """Two answers to each test row: on how many rows one alone is right, and the exact McNemar test."""

    only_own_right: int = Field(description="Number of test rows that only the first of the two has right.")
    only_rival_right: int = Field(description="Number of test rows that only the rival has right.")
    p_value: float = Field(description="p-value, two-sided.")


class Comparison(HitComparison):
    """Paired comparison of the method with its rival, random-and-validation, on the test rows: hits, and macro-F1."""

    permutations: int = Field(
        description="Number of random permutations. They take at least as many pairs and as many tokens as the method, "
        "all of its steps included."
    )
    macro_f1: float = Field(description="Macro-F1 of the prompt of the method minus that of random-and-validation.")
    macro_f1_error: float = Field(description="Standard error of this difference, by the jackknife, paired by row.")


class BestAnswer(Record):
    """The more often right of a prompt and the classifier to use, on the test rows."""

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
        description="By the test rows, which chose neither. True if the prompt is as often right as the classifier to "
        "use, or more often (macro-F1 if the option `objective` says so), and nothing that was tested is clearly "
        "better than the prompt (paired test at 5 %). False if the classifier is more often right and something is "
        "clearly better than the prompt. Null if that cannot be told, or nothing was compared."
    )
    best: BestAnswer | None = Field(
        None,
        description="The more often right of the prompt and the classifier to use; null without a classifier.",
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
    fixed: tuple[tuple[int, ...] | None, ...] = Field(
        description="Answers of the `fixed` prompt of each of `support_examples`, for its use; null if there is none, "
        "or if it was not tested.",
    )
    classifier: tuple[int, ...] | None = Field(description="Answers of the classifier to use; null without one.")
    support_examples_probabilities: tuple[tuple[float, ...] | None, ...] = Field(
        description="Probability of each answer in `support_examples`; null for a model that tells none."
    )
    classifier_probabilities: tuple[float, ...] | None = Field(
        description="Probability of each answer in `classifier`; null without one."
    )


class Verdict(Record):
    """What to use first."""

    sentence: str = Field(
        description="What to use first, and how often it is right; if the run ended early, after the reason."
    )


class Lead(Record):
    """Lead of the method's best permutation over its runner-up, on the rows that decided."""

    rows: int = Field(
        description="Correct rows of the chosen permutation minus correct rows of the runner-up. May be below 0 where "
        "macro-F1 decides."
    )
    n: int = Field(description="Number of rows that ranked the two permutations.")
    close_rows: int = Field(
        description="Number of rows whose prediction could flip through rounding, against the chosen permutation."
    )
    within_noise: bool = Field(description="True if rounding errors alone could swap the two permutations.")
    macro_f1: float | None = Field(
        None, description="Macro-F1 of the chosen permutation minus that of the runner-up; null where accuracy decides."
    )
