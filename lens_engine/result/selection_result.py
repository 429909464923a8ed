"""The result of a selection."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

from pydantic import Field

from lens_engine.classifier.candidates import SuspiciousLabel, TestedClassifier
from lens_engine.classifier.classifier import Classifier, InputFormat, ModelRecord, Prompt
from lens_engine.classifier.heads import ArgmaxHead, PriorHead
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective, Use
from lens_engine.prompt.pool import Pool, RenderedPrompt
from lens_engine.prompt.record import TaskRecord
from lens_engine.result.parts import (
    Answers,
    Contender,
    Estimate,
    Provenance,
    RowCounts,
    Spending,
    SupportExample,
    SupportExamples,
    Verdict,
    Wording,
    find_renderer,
)
from lens_engine.types import HeadlineKind, Record, StopReason

_NOT_DIGESTED: dict[str, Any] = {
    "cost": True,
    "digest": True,
    "provenance": {"dataset", "device_name", "executor_note"},
    "classifier": {"input"},
    "contenders": {"__all__": {"usd"}},
}


@dataclass(frozen=True)
class Look:
    """How a result looks to a person."""

    html: Callable[["SelectionResult"], str]  #: in a notebook
    line: Callable[["SelectionResult"], str]  #: printed
    text: Callable[["SelectionResult"], str]  #: printed in full


class SelectionResult(Record):
    """The support examples of a task, and how good they are."""

    look: ClassVar[Look | None] = None  #: set by `lens_engine.show`, which stands above all data

    partial: bool = Field(description="True if the run was stopped and the result is the best found until then.")
    stop_reason: StopReason = Field(
        description="Why the run ended. completed: the run did all its work. budget: `budget` was spent. "
        "cancelled: the caller stopped the run."
    )
    task: TaskRecord = Field(description="Template, label words, separator and instruction.")
    support_examples: tuple[SupportExamples, ...] = Field(
        description="The best single prompt for each use; that of the use asked for first."
    )
    first: HeadlineKind = Field(
        description="What to use first. prompt: the support examples. words: word counting, which needs no model. "
        "classifier: the classifier, which reads the model or sentence embeddings."
    )
    contenders: tuple[Contender, ...] = Field(
        description="Every way to answer that was compared, the best first; a prompt has a line for each use."
    )
    wordings: tuple[Wording, ...] = Field(
        (), description="Templates and instructions that the contenders were asked in; none if there was one."
    )
    pool: Pool | None = Field(
        None,
        exclude_if=lambda pool: pool is None,
        description="Labelled rows among which the demonstrations of an input are found; left out where none are.",
    )
    classifier: Classifier | None = Field(
        None, description="The classifier to use; null if none was made, or the run ended before."
    )
    classifier_estimate: Estimate | None = Field(
        None, description="What to expect of the classifier on new texts; null without one."
    )
    tested: tuple[TestedClassifier, ...] = Field(description="Every candidate for the classifier, the cheapest first.")
    suspicious_labels: tuple[SuspiciousLabel, ...] = Field(
        (),
        description="Rows whose label the classifier to use contradicts with confidence, by cross-validation; the most "
        "suspicious first, at most 200. Rows on which it was not cross-validated are not judged.",
    )
    verdict: Verdict = Field(description="What to use first: the classifier, the prompt, or word counting.")
    answers: Answers = Field(description="Answers row by row: on the test rows, or else on judging and search rows.")
    most_tokens: int | None = Field(
        None, description="Number of tokens of a rendered text above which it was cut; null for never."
    )
    opening_tokens: int = Field(
        0,
        exclude_if=lambda tokens: not tokens,
        description="Number of tokens of the instruction, which begins every prompt; left out if there is none.",
    )
    counts: RowCounts = Field(description="Number of rows of each kind.")
    cost: Spending = Field(description="What the run spent.")
    warnings: tuple[str, ...] = Field((), description="What may surprise in the data or in the result.")
    provenance: Provenance = Field(description="Everything needed to repeat the run.")
    digest: str = Field(
        "",
        description="SHA-256 of the result without `cost`, `classifier.input`, `contenders.usd`, "
        "`provenance.dataset`, `device_name` and `executor_note` (and without `selection_id` and `pool_rows`).",
    )

    @property
    def answer(self) -> SupportExamples:
        """The support examples for the use asked for."""
        return self.support_examples[0]

    def answer_for(self, use: Use | None) -> SupportExamples:
        """The support examples for a use; those for the use asked for, if it is None or has none of its own."""
        return next((one for one in self.support_examples if use in (None, one.use)), self.answer)

    @property
    def examples(self) -> tuple[SupportExample, ...]:
        """Support examples for the use asked for, in the order of the prompt."""
        return self.answer.examples

    @property
    def prompt(self) -> str:
        """Beginning of the prompt, up to the input."""
        return self.answer.prompt

    @property
    def expected(self) -> Accuracy | None:
        """What to expect of the support examples on new texts."""
        return self.answer.expected

    @property
    def has_test(self) -> bool:
        """Whether the figures are of test rows."""
        return self.answers.is_test

    @property
    def objective(self) -> Objective:
        """The figure by which the run chose."""
        found: Objective = self.provenance.config.get("objective", "accuracy")
        return found

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the support examples, in order."""
        return self.answer.rows

    @property
    def chosen(self) -> TestedClassifier | None:
        """The classifier to use, as it was tested; None without one."""
        return next((one for one in self.tested if one.is_chosen), None)

    @property
    def test_figures(self) -> Mapping[HeadlineKind, Quality]:
        """Quality on the test rows of the prompt, the classifier to use and word counting, as far as tested."""
        found = {one.headline: one.test for one in self.tested if one.is_chosen or one.headline == "words"}
        found["prompt"] = self.answer.test
        return {kind: test for kind, test in found.items() if test is not None}

    @property
    def estimates(self) -> Mapping[HeadlineKind, Estimate]:
        """What the run expects of the prompt and of the classifier to use, as far as they were judged."""
        found: dict[HeadlineKind, Estimate | None] = {"prompt": self.answer.estimate}
        if self.chosen is not None:
            found[self.chosen.headline] = self.classifier_estimate
        return {kind: estimate for kind, estimate in found.items() if estimate is not None}

    @property
    def is_tested(self) -> bool:
        """Whether the first choice has test rows, of which all figures are then."""
        return self.first in self.test_figures

    @property
    def expectations(self) -> Mapping[HeadlineKind, Accuracy]:
        """What to expect of each: its figure on the test rows if the first choice has one, or else the run's estimate.

        Word counting that was not chosen is one contender, so its figure on the judging rows has no optimism of a
        choice.
        """
        if self.is_tested:
            return self.test_figures
        words = next((one.judged for one in self.contenders if one.headline == "words"), None)
        return self.estimates if words is None else {"words": words, **self.estimates}

    @property
    def beats_largest_class(self) -> bool:
        """Whether the first choice is better than always the most frequent label, as far as that is known."""
        expected = self.expectations.get(self.first)
        if expected is None or expected.largest_class is None:
            return True
        if self.objective == "accuracy" and isinstance(expected, Estimate) and expected.naive <= expected.largest_class:
            return False  # an estimate from few rows varies
        return expected.beats_largest_class(self.objective)

    def render(self, text: str, use: Use | None = None) -> RenderedPrompt:
        """The prompt of an input, as it was evaluated, and the rows that were found for it, with their similarity.

        Args:
            use: use for which the prompt is the best; None for that of the run.

        Raises:
            InvalidConfig: the result has not the pool of its prompt.
        """
        return find_renderer(self.task, self.answer_for(use), self.pool).render([text])[0]

    def summary(self) -> str:
        """What to use, accuracies with those of the rivals, support examples in order, and cost; some 30 lines."""
        return repr(self) if self.look is None else self.look.text(self)

    def _repr_html_(self) -> str | None:
        return None if self.look is None else self.look.html(self)

    def __repr__(self) -> str:
        """What to use, support examples, classifier, cost and digest: a line each."""
        return super().__repr__() if self.look is None else self.look.line(self)

    __str__ = __repr__  # pydantic writes every field

    def with_digest(self) -> "SelectionResult":
        """Return a copy with `digest`: the SHA-256 of the canonical JSON without `digest`, costs and three notes.

        The notes are the name of the GPU, why a faster executor was refused, and how the classifier's file was written.
        A resumed run gives the same digest as an uninterrupted one, on a GPU of another name too. A run that asks for
        the executor by name has no note on it, and the same digest.
        """
        content = self.model_dump(mode="json", exclude=_NOT_DIGESTED)
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return self.model_copy(update={"digest": hashlib.sha256(canonical.encode()).hexdigest()})


class Headline(Record):
    """What to expect of one way to answer."""

    kind: HeadlineKind = Field(description="classifier: it reads the model. words: word counting, without a model.")
    expected: Accuracy = Field(description="Accuracy on the test rows, or else the estimate.")
    tokens: float | None = Field(None, description="Mean number of tokens for one text; null for the prompt.")


def list_headlines(result: SelectionResult) -> tuple[Headline, ...]:
    """What to use first, then the others, the most often right first; empty for a run that judged nothing."""
    found = list[Headline]()
    tokens = {one.headline: one.tokens_per_input for one in result.tested if one.is_chosen or one.headline == "words"}
    kinds: tuple[HeadlineKind, ...] = ("classifier", "words", "prompt")
    for kind in kinds:
        if (expected := result.expectations.get(kind)) is not None:
            found.append(Headline(kind=kind, expected=expected, tokens=tokens.get(kind)))
    return tuple(sorted(found, key=lambda one: (one.kind != result.first, -one.expected.accuracy)))


def classifier_of_prompt(result: SelectionResult, use: Use | None = None, *, is_fixed: bool = False) -> Classifier:
    """The prompt for a use, or its fixed form, as a classifier with the head of the use, whatever was chosen."""
    answer = result.answer_for(use)
    prompt = PromptOfAnswer(
        result.task,
        answer.plain if is_fixed else answer,
        result.provenance,
        result.pool,
        result.most_tokens,
        result.opening_tokens,
        tuple(one.tokens_per_input / one.prompts for one in result.tested if one.prompts),
    )
    return prompt.classifier(None if result.classifier is None else result.classifier.input)


@dataclass(frozen=True, slots=True)
class PromptOfAnswer:
    """What a prompt is asked by: parts of a result."""

    task: TaskRecord
    answer: SupportExamples
    made_of: Provenance
    pool: Pool | None  #: None where the form of the prompt is fixed
    most_tokens: int | None = None  #: as in the result
    opening_tokens: int = 0  #: as in the result
    query_tokens: tuple[float, ...] = ()  #: mean numbers of tokens of a rendered input that were measured

    def classifier(self, input: InputFormat | None = None) -> Classifier:
        """The prompt as a classifier, with the head of its use.

        Raises:
            InvalidConfig: the prompt finds demonstrations for each input, and the pool is missing.
        """
        answer, made_of, head = self.answer, self.made_of, head_of_prompt(self.task, self.answer)
        prompt = find_renderer(self.task, answer, self.pool)
        a_demonstration = fmean([one.tokens for one in answer.plain.examples] or [0])
        # As measured for a classifier with prompts, or else of the demonstrations, which have a label word more.
        a_query = fmean(self.query_tokens or [one.tokens for one in answer.examples] or [0])
        return Classifier(
            task=self.task,
            prompts=(Prompt(rows=prompt.rows, demonstrations=prompt.fixed),),
            head=head,
            fit_rows=answer.judged.n if answer.judged and head.kind == "prior" else 0,
            model=ModelRecord(
                model=made_of.model, revision=made_of.revision, dtype=made_of.dtype, device=made_of.device
            ),
            tokens_per_input=a_query + answer.form.nearest * a_demonstration,
            tokens_held=self.opening_tokens + sum(one.tokens for one in answer.examples),
            most_tokens=self.most_tokens,
            retrieval=prompt.retrieval,
            quality=answer.test or answer.judged,
            input=input,
        )


def head_of_prompt(task: TaskRecord, answer: SupportExamples) -> ArgmaxHead | PriorHead:
    """The head that answers as the prompt was evaluated for its use."""
    if answer.use == "prompt" or not answer.label_biases:
        return ArgmaxHead()
    biases = {one.label: one.bias for one in answer.label_biases}
    return PriorHead(biases=(tuple(biases[label] for label in task.labels),))
