"""The classifier that a single prompt is: the support examples, asked as they were evaluated."""

from dataclasses import dataclass
from statistics import fmean

from lens_engine.classifier.classifier import Classifier, InputFormat, ModelRecord, Prompt
from lens_engine.classifier.heads import ArgmaxHead, PriorHead
from lens_engine.config import Use
from lens_engine.prompt.pool import Pool
from lens_engine.prompt.record import TaskRecord
from lens_engine.result.parts import Provenance, SupportExamples, find_renderer
from lens_engine.result.selection_result import SelectionResult


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
        return Classifier(
            task=self.task,
            prompts=(Prompt(rows=prompt.rows, demonstrations=prompt.fixed),),
            head=head,
            fit_rows=answer.judged.n if answer.judged and head.kind == "prior" else 0,
            model=ModelRecord(
                model=made_of.model, revision=made_of.revision, dtype=made_of.dtype, device=made_of.device
            ),
            tokens_per_input=self._mean_query_tokens() + answer.form.nearest * a_demonstration,
            tokens_held=self.opening_tokens + sum(one.tokens for one in answer.examples),
            most_tokens=self.most_tokens,
            retrieval=prompt.retrieval,
            quality=answer.test or answer.judged,
            input=input,
        )

    def _mean_query_tokens(self) -> float:
        """As measured for a classifier with prompts, or else of the demonstrations, which have a label word more; 0
        without either."""
        return fmean(self.query_tokens or [one.tokens for one in self.answer.examples] or [0])


def head_of_prompt(task: TaskRecord, answer: SupportExamples) -> ArgmaxHead | PriorHead:
    """The head that answers as the prompt was evaluated for its use."""
    if answer.use == "prompt" or not answer.label_biases:
        return ArgmaxHead()
    biases = {one.label: one.bias for one in answer.label_biases}
    return PriorHead(biases=(tuple(biases[label] for label in task.labels),))
