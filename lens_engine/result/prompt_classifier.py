"""Support examples as a classifier: their prompt, with a head that reads it as their use says."""

from collections.abc import Mapping

from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt
from lens_engine.classifier.heads import ArgmaxHead, PriorHead, PromptsHead
from lens_engine.result.parts import SupportExamples
from lens_engine.task.record import TaskRecord
from lens_engine.types import Example


def make_prompt_classifier(
    task: TaskRecord, answer: SupportExamples, model: ModelRecord, *, most_tokens: int | None = None
) -> Classifier:
    """The classifier of one prompt.

    Args:
        most_tokens: as `Classifier.most_tokens`.
    """
    examples = [Example(one.row, one.text, one.label) for one in answer.examples]
    return Classifier(
        task=task,
        prompts=(Prompt(rows=answer.rows, demonstrations=task.task().render_prefix(examples)),),
        head=_make_head(answer, {one.label: one.bias for one in answer.label_biases}, task.labels),
        fit_rows=0 if answer.judged is None else answer.judged.n,
        model=model,
        tokens_per_input=0.0,
        tokens_held=sum(one.tokens for one in answer.examples),
        most_tokens=most_tokens,
        test=answer.test,
    )


def _make_head(answer: SupportExamples, biases: Mapping[str, float], labels: tuple[str, ...]) -> PromptsHead:
    if answer.use == "prompt" or not biases:
        return ArgmaxHead()
    return PriorHead(biases=(tuple(biases[label] for label in labels),))
