"""The classifier that a single prompt is: the support examples, asked as they were evaluated."""

from statistics import fmean

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import ArgmaxHead, PriorHead
from lens_engine.classifier.prompt import ModelRecord, Prompt
from lens_engine.config import Use
from lens_engine.result.parts import SupportExamples
from lens_engine.result.selection_result import SelectionResult
from lens_engine.task.record import TaskRecord


def classifier_of_prompt(result: SelectionResult, use: Use | None = None, *, is_fixed: bool = False) -> Classifier:
    """The prompt of the support examples as a classifier, with the head of its use, whatever classifier was chosen.

    Args:
        use: use for which the prompt is the best; None for that of the run.
        is_fixed: whether to take the prompt of fixed demonstrations, whatever form is the best.

    Raises:
        InvalidConfig: the result has no task, or not the pool of its prompt.
    """
    answer, made_of, other = result.answer_for(use), result.provenance, result.classifier
    answer = answer.plain if is_fixed else answer
    prompt, form = result.prompt_of(answer), answer.form
    assert result.task is not None  # otherwise it has no prompt
    task, head = result.task, head_of_prompt(result.task, answer)
    return Classifier(
        task=task,
        prompts=(Prompt(rows=prompt.rows, demonstrations=prompt.fixed),),
        head=head,
        fit_rows=answer.judged.n if answer.judged and head.kind == "prior" else 0,
        model=ModelRecord(model=made_of.model, revision=made_of.revision, dtype=made_of.dtype, device=made_of.device),
        tokens_per_input=_mean_query_tokens(result, answer) + form.nearest * _mean_demonstration_tokens(answer),
        tokens_held=result.opening_tokens + sum(one.tokens for one in answer.examples),
        most_tokens=result.most_tokens,
        retrieval=prompt.retrieval,
        test=answer.test,
        input=other and other.input,
    )


def _mean_demonstration_tokens(answer: SupportExamples) -> float:
    return fmean([one.tokens for one in answer.plain.examples] or [0])


def head_of_prompt(task: TaskRecord, answer: SupportExamples) -> ArgmaxHead | PriorHead:
    """The head that answers as the prompt was evaluated for its use."""
    if answer.use == "prompt" or not answer.label_biases:
        return ArgmaxHead()
    biases = {one.label: one.bias for one in answer.label_biases}
    return PriorHead(biases=(tuple(biases[label] for label in task.labels),))


def _mean_query_tokens(result: SelectionResult, answer: SupportExamples) -> float:
    """Mean number of tokens of a rendered input: as measured for a classifier with prompts, or else of the
    demonstrations, which have a label word more; 0 without either."""
    measured = [one.tokens_per_input / one.prompts for one in result.tested if one.prompts]
    return fmean(measured or [one.tokens for one in answer.examples] or [0])
