"""What production reads of a finished run, of the selection itself or of the copy that a name keeps.

Another release may have stored it. So it is shown as it is stored, and is not validated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from app.errors import NoClassifier, NoResult
from app.selections.exporting import Export
from app.selections.indexes import Indexes, PoolSource
from app.selections.prompts_of_inputs import ShownExample, find_renderer, list_shown, read_form
from app.selections.rendering import RenderBody, Rendered, RenderedPrompt
from app.selections.schemas import Advice, BestOut, Demonstration, ShownDemonstration, SupportExamplesOut
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import PROMPTS_HEAD_KINDS
from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.exports import Source
from lens_engine.result import Provenance, SupportExamples
from lens_engine.result.of_prompt import PromptOfAnswer
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Pool
from lens_engine.retrieval.prompts import RenderedPrompt as PromptOfInput
from lens_engine.task.record import TaskRecord

READ_BY_PRODUCTION = (
    *("task", "support_examples", "partial", "verdict"),
    *("provenance", "most_tokens", "opening_tokens"),  # what asks the prompt
)
"""The fields of a result that are read here."""

OTHER_RELEASE = "another release of the service stored this result; submit a new selection"
_OF_ANSWER = ("use", "method", "examples", "label_biases", "judged")


class AskedPrompt(NamedTuple):
    """A prompt as a classifier, and its use."""

    classifier: Classifier
    use: Use


@dataclass(frozen=True, slots=True)
class Answers:
    """The support examples of a result, and the prompts for new inputs."""

    selection_id: str
    path: str  #: of the resource that the client reads
    result: Mapping[str, Any]
    model: str | None  #: language model for which the support examples were found
    pool: PoolSource | None = None  #: None where no prompt finds examples for an input
    is_running: bool = False  #: whether it is the best so far of a selection that has not ended

    async def fetch_pool(self, indexes: Indexes, use: Use | None) -> Pool | None:
        """The pool in which the prompt for a use finds examples; None for a fixed form."""
        if not read_form(self._pick(use)).nearest:
            return None
        if self.pool is None:
            raise NoResult(OTHER_RELEASE)
        return await indexes.find(self.pool)

    def show(self, use: Use | None, text: str | None = None, pool: Pool | None = None) -> SupportExamplesOut:
        """The support examples for a use; None for the use that was asked for.

        Args:
            text: input whose demonstrations are shown as well.
            pool: of `fetch_pool`, for an input.
        """
        answer = self._pick(use)
        shown = {name: answer.get(name) for name in _OF_ANSWER}
        prompt, demonstrations = answer.get("prompt"), None
        if text is not None:
            (beginning,) = find_renderer(self._read_task().task(), answer, pool).begin([text])
            prompt = "".join(beginning.segments)
            found = list_shown(answer, beginning.found)
            demonstrations = [ShownDemonstration(**_describe(one), text=one.example.text) for one in found]
        return SupportExamplesOut(
            **shown,
            **dict(self._advise(answer)),
            **self._about_form(answer),
            prompt=prompt,
            demonstrations=demonstrations,
            selection_id=self.selection_id,
            partial=self.result.get("partial"),
            running=self.is_running,
            task=self.result.get("task"),
            accuracy_without_biases=read_accuracy(answer, "prompt"),
            accuracy_with_biases=read_accuracy(answer, "probabilities"),
        )

    def prepare_export(self, use: Use | None) -> "Export":
        """The support examples, ready to be written in any format.

        Raises:
            NoResult: another release stored the result in a form that this one cannot export.
        """
        try:
            answer = SupportExamples.model_validate(self._pick(use))
        except ValidationError as error:
            raise NoResult(OTHER_RELEASE) from error
        pool = self.pool if answer.form.nearest else None
        return Export(Source.of_answer(self._read_task(), answer, self.model), pool)

    def make_classifier(self, use: Use | None, *, is_fixed: bool = False) -> AskedPrompt:
        """The prompt for a use as a classifier, of any form.

        Args:
            is_fixed: whether to take the prompt of fixed demonstrations, whatever form is the best.

        Raises:
            NoResult: another release stored the result.
        """
        record, stored = self._read_task(), self.result
        try:
            best = SupportExamples.model_validate(self._pick(use))
            answer = best.plain if is_fixed else best
            origin = Provenance.model_validate(stored.get("provenance"))
            pool = self.pool.load() if answer.form.nearest and self.pool is not None else None
            prompt = PromptOfAnswer(
                record, answer, origin, pool, stored.get("most_tokens"), stored.get("opening_tokens") or 0
            )
            return AskedPrompt(prompt.classifier(), answer.use)
        except (ValidationError, InvalidConfig) as error:
            raise NoResult(OTHER_RELEASE) from error

    def render(self, body: RenderBody, classifier: Classifier | None, pool: Pool | None = None) -> Rendered:
        """The prompts for each input: of the support examples, or of this classifier.

        Args:
            pool: of `fetch_pool`; None for the prompts of a classifier.

        Raises:
            NoClassifier: the classifier reads no label probabilities, so its prompts alone classify nothing.
            NoResult: another release stored the result without its task.
        """
        inputs = body.inputs if body.inputs is not None else [body.input or ""]
        if classifier is not None:
            return self._render_classifier(classifier, inputs)
        record, answer = self._read_task(), self._pick(body.use)
        rendered = find_renderer(record.task(), answer, pool).render(inputs)
        return Rendered(
            **dict(self._advise(answer)),
            **self._about_form(answer),
            **self._about(record),
            running=self.is_running,
            label_biases=answer["label_biases"],
            prompts=[_present(number, one, list_shown(answer, one.found)) for number, one in enumerate(rendered)],
            accuracy=read_accuracy(answer, answer["use"]),
            judged=answer.get("judged"),
        )

    def _render_classifier(self, classifier: Classifier, inputs: Sequence[str]) -> Rendered:
        _check_head(classifier)
        rendered = [renderer.render(inputs) for renderer in classifier.list_renderers()]  # [prompts][inputs]
        return Rendered(
            **dict(self._advise_classifier(classifier)),
            **self._about(classifier.task),
            running=False,
            form=PromptForm(),
            pool_rows=None,
            label_biases=(),
            prompts=[
                _present(number, one, ())
                for number, of_input in enumerate(zip(*rendered, strict=True))
                for one in of_input
            ],
            accuracy=None if classifier.test is None else classifier.test.accuracy,
            judged=None,
        )

    def _about(self, record: TaskRecord) -> dict[str, Any]:
        return {
            "selection_id": self.selection_id,
            "partial": bool(self.result.get("partial")),
            "label_words": record.label_words,
        }

    def _about_form(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        form = read_form(answer)
        return {"form": form, "pool_rows": self.pool.num_rows if form.nearest and self.pool is not None else None}

    def _read_task(self) -> TaskRecord:
        try:
            return TaskRecord.model_validate(self.result.get("task"))
        except ValidationError as error:
            raise NoResult(OTHER_RELEASE) from error

    def _pick(self, use: Use | None) -> dict[str, Any]:
        """The stored support examples for a use; the first are those of the use that was asked for."""
        answers: list[dict[str, Any]] = self.result.get("support_examples") or [{}]  # of another release
        return next((one for one in answers if use in (None, one.get("use"))), answers[0])

    def _advise(self, answer: dict[str, Any]) -> Advice:
        """Whether support examples are recommended. `best` names a classifier if they are not."""
        best = answer.get("best")
        if best is not None:
            figure, path = best["test"] or {}, None if answer["recommended"] else f"{self.path}/classifier"
            best = BestOut(name=best["name"], accuracy=figure.get("accuracy"), n=figure.get("n"), path=path)
        return Advice(recommended=answer.get("recommended"), best=best, reason=answer.get("reason"))

    def _advise_classifier(self, classifier: Classifier) -> Advice:
        """The advice on the prompts of a classifier of label probabilities: it is what the verdict recommends."""
        accuracy, n = (None, None) if classifier.test is None else (classifier.test.accuracy, classifier.test.n)
        best = BestOut(name="label_probabilities", accuracy=accuracy, n=n, path=f"{self.path}/classifier")
        return Advice(recommended=True, best=best, reason=self.result["verdict"]["sentence"])


def read_accuracy(answer: Mapping[str, Any], use: Use) -> float | None:
    """Accuracy of stored support examples on the test rows, as this use reads them."""
    return (read_quality(answer, use) or {}).get("accuracy")


def read_quality(answer: Mapping[str, Any], use: Use) -> Mapping[str, Any] | None:
    """Quality of stored support examples on the test rows, as this use reads them."""
    return answer.get("without_biases" if use == "prompt" else "with_biases")


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
