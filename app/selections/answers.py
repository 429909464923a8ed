"""What production reads of a finished run, of the selection itself or of the copy that a name keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.errors import NoClassifier, NoResult
from app.selections.exporting import Export
from app.selections.indexes import Indexes, PoolSource
from app.selections.rendering import RenderBody, Rendered, RenderedPrompt
from app.selections.schemas import Advice, BestOut, Demonstration, ShownDemonstration, SupportExamplesOut
from app.selections.stored import PromptPart
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import PROMPTS_HEAD_KINDS
from lens_engine.classifier.quality import Quality
from lens_engine.config import Use
from lens_engine.exports import Source
from lens_engine.result import SupportExamples
from lens_engine.result.of_prompt import PromptOfAnswer
from lens_engine.result.rendering import find_renderer
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Found, Pool
from lens_engine.retrieval.prompts import RenderedPrompt as PromptOfInput
from lens_engine.types import Example

CHANGED = "the selection was changed or deleted meanwhile; look at it, and repeat the request"


class AskedPrompt(NamedTuple):
    """A prompt as a classifier, and its use."""

    classifier: Classifier
    use: Use


class ShownExample(NamedTuple):
    """A demonstration, and how much it is like the input; None for one that every prompt shows."""

    example: Example
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Answers:
    """The support examples of a result, and the prompts for new inputs."""

    selection_id: str
    path: str  #: of the resource that the client reads
    result: PromptPart
    pool: PoolSource | None = None  #: None where no prompt finds examples for an input
    is_running: bool = False  #: whether it is the best so far of a selection that has not ended

    async def fetch_pool(self, indexes: Indexes, use: Use | None) -> Pool | None:
        """The pool in which the prompt for a use finds examples; None for a fixed form.

        Raises:
            NoResult: the selection was changed meanwhile.
        """
        source = self._find_pool(self.result.answer_for(use))
        return None if source is None else await indexes.find(source)

    def show(self, use: Use | None, text: str | None = None, pool: Pool | None = None) -> SupportExamplesOut:
        """The support examples for a use; None for the use that was asked for.

        Args:
            text: input whose demonstrations are shown as well.
            pool: of `fetch_pool`, for an input.

        Raises:
            NoResult: as `fetch_pool`.
        """
        answer = self.result.answer_for(use)
        prompt, demonstrations = answer.prompt, None
        if text is not None:
            (beginning,) = find_renderer(self.result.task, answer, pool).begin([text])
            prompt = "".join(beginning.segments)
            found = _list_shown(answer, beginning.found)
            demonstrations = [ShownDemonstration(**_describe(one), text=one.example.text) for one in found]
        return SupportExamplesOut(
            **dict(self._advise(answer)),
            **self._about_form(answer),
            selection_id=self.selection_id,
            partial=self.result.partial,
            running=self.is_running,
            task=self.result.task,
            use=answer.use,
            method=answer.method,
            examples=answer.examples,
            prompt=prompt,
            demonstrations=demonstrations,
            label_biases=answer.label_biases,
            judged=answer.judged,
            accuracy_without_biases=_accuracy(answer.without_biases),
            accuracy_with_biases=_accuracy(answer.with_biases),
        )

    def prepare_export(self, use: Use | None) -> "Export":
        """The support examples, ready to be written in any format.

        Raises:
            NoResult: as `fetch_pool`.
        """
        answer = self.result.answer_for(use)
        source = Source.of_answer(self.result.task, answer, self.result.provenance.model)
        return Export(source, self._find_pool(answer))

    def make_classifier(self, use: Use | None, *, is_fixed: bool = False) -> AskedPrompt:
        """The prompt for a use as a classifier, of any form.

        Args:
            is_fixed: whether to take the prompt of fixed demonstrations, whatever form is the best.

        Raises:
            NoResult: as `fetch_pool`.
        """
        result, best = self.result, self.result.answer_for(use)
        answer = best.plain if is_fixed else best
        source = self._find_pool(answer)
        pool = None if source is None else source.load()
        prompt = PromptOfAnswer(result.task, answer, result.provenance, pool, result.most_tokens, result.opening_tokens)
        return AskedPrompt(prompt.classifier(), answer.use)

    def render(self, body: RenderBody, classifier: Classifier | None, pool: Pool | None = None) -> Rendered:
        """The prompts for each input: of the support examples, or of this classifier.

        Args:
            pool: of `fetch_pool`; None for the prompts of a classifier.

        Raises:
            NoClassifier: the classifier reads no label probabilities, so its prompts alone classify nothing.
            NoResult: as `fetch_pool`.
        """
        inputs = body.inputs if body.inputs is not None else [body.input or ""]
        if classifier is not None:
            return self._render_classifier(classifier, inputs)
        answer = self.result.answer_for(body.use)
        rendered = find_renderer(self.result.task, answer, pool).render(inputs)
        return Rendered(
            **dict(self._advise(answer)),
            **self._about_form(answer),
            **self._about,
            running=self.is_running,
            label_words=self.result.task.label_words,
            label_biases=answer.label_biases,
            prompts=[_present(number, one, _list_shown(answer, one.found)) for number, one in enumerate(rendered)],
            accuracy=_accuracy(answer.test),
            judged=answer.judged,
        )

    def _render_classifier(self, classifier: Classifier, inputs: Sequence[str]) -> Rendered:
        _check_head(classifier)
        rendered = [renderer.render(inputs) for renderer in classifier.list_renderers()]  # [prompts][inputs]
        return Rendered(
            **dict(self._advise_classifier(classifier)),
            **self._about,
            running=False,
            form=PromptForm(),
            pool_rows=None,
            label_words=classifier.task.label_words,
            label_biases=(),
            prompts=[
                _present(number, one, ())
                for number, of_input in enumerate(zip(*rendered, strict=True))
                for one in of_input
            ],
            accuracy=_accuracy(classifier.test),
            judged=None,
        )

    @property
    def _about(self) -> dict[str, Any]:
        return {"selection_id": self.selection_id, "partial": self.result.partial}

    def _about_form(self, answer: SupportExamples) -> dict[str, Any]:
        source = self._find_pool(answer)
        return {"form": answer.form, "pool_rows": None if source is None else source.num_rows}

    def _find_pool(self, answer: SupportExamples) -> PoolSource | None:
        if not answer.form.nearest:
            return None
        if self.pool is None:
            raise NoResult(CHANGED)
        return self.pool

    def _advise(self, answer: SupportExamples) -> Advice:
        """Whether support examples are recommended. `best` names a classifier if they are not."""
        path = None if answer.recommended else f"{self.path}/classifier"
        best = None if answer.best is None else _present_best(answer.best.name, answer.best.test, path)
        return Advice(recommended=answer.recommended, best=best, reason=answer.reason)

    def _advise_classifier(self, classifier: Classifier) -> Advice:
        """The advice on the prompts of a classifier of label probabilities: it is what the verdict recommends."""
        best = _present_best("label_probabilities", classifier.test, f"{self.path}/classifier")
        return Advice(recommended=True, best=best, reason=self.result.verdict.sentence)


def _present_best(name: str, test: Quality | None, path: str | None) -> BestOut:
    return BestOut(name=name, accuracy=_accuracy(test), n=None if test is None else test.n, path=path)


def _accuracy(quality: Quality | None) -> float | None:
    return None if quality is None else quality.accuracy


def _list_shown(answer: SupportExamples, found: Sequence[Found]) -> list[ShownExample]:
    """The demonstrations of an input, in the order of its prompt: the fixed ones, then those that were found for it."""
    fixed = (ShownExample(one.example, None) for one in answer.examples)
    return [*fixed, *(ShownExample(*one) for one in found)]


def _present(number: int, rendered: PromptOfInput, shown: Sequence[ShownExample]) -> RenderedPrompt:
    """Build the API's view of the prompt of an input."""
    return RenderedPrompt(
        input=number,
        prompt=rendered.text,
        characters=len(rendered.text),
        turns=None if rendered.turns is None else list(rendered.turns),
        demonstrations=[Demonstration(**_describe(one)) for one in shown],
    )


def _describe(shown: ShownExample) -> dict[str, Any]:
    origin = "fixed" if shown.similarity is None else "found"
    return {
        "row": shown.example.row,
        "label": shown.example.label,
        "similarity": shown.similarity,
        "origin": origin,
    }


def _check_head(classifier: Classifier) -> None:
    if classifier.head.kind not in PROMPTS_HEAD_KINDS:
        what = classifier.head.kind.replace("_", " ")
        raise NoClassifier(f"the classifier reads {what}, which no prompt shows; download it, and run lens classify")
