"""What production reads of a finished run, of the selection itself or of the copy that a name keeps.

Another release may have stored it. So it is shown as it is stored, and is not validated.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from pydantic import ValidationError
from starlette.responses import Response

from app.errors import NoClassifier, NoResult
from app.models import Report
from app.selections.measured_forms import MeasuredForm
from app.selections.pools import read_pool
from app.selections.rendering import RenderBody, Rendered, RenderedPrompt
from app.selections.schemas import Advice, BestOut, SupportExamplesOut
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import PROMPTS_HEAD_KINDS
from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.exports import FORMATS, ExportName, Source, write_export
from lens_engine.exports.folder import ZIP_TYPE, pack, write_folder
from lens_engine.predicting.subject import digest_prompt
from lens_engine.result import Provenance, SupportExamples
from lens_engine.result.of_prompt import PromptOfAnswer
from lens_engine.retrieval.pool import Pool
from lens_engine.task.record import TaskRecord
from lens_engine.types import Example

READ_BY_PRODUCTION = (
    *("task", "support_examples", "partial", "verdict", "pool"),
    *("provenance", "most_tokens", "opening_tokens"),  # what asks the prompt
)
"""The fields of a result that are read here."""

OTHER_RELEASE = "another release of the service stored this result; submit a new selection"
_OF_ANSWER = ("use", "method", "examples", "prompt", "label_biases")


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

    @classmethod
    def of(cls, report: Report) -> "Answers":
        model = (report.result.get("provenance") or {}).get("model")
        return cls(report.selection_id, f"/selections/{report.selection_id}", report.result, model)

    def show(self, use: Use | None) -> SupportExamplesOut:
        """The support examples for a use; None for the use that was asked for."""
        answer = self._pick(use)
        shown = {name: answer.get(name) for name in _OF_ANSWER}
        return SupportExamplesOut(
            **shown,
            **dict(self._advise(answer)),
            selection_id=self.selection_id,
            partial=self.result.get("partial"),
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
        return Export(Source.of_answer(self._read_task(), answer, self.model), partial(read_pool, self.result))

    def make_classifier(self, use: Use | None) -> AskedPrompt:
        """The prompt for a use as a classifier, of any form.

        Raises:
            NoResult: another release stored the result.
        """
        record, stored = self._read_task(), self.result
        try:
            answer = SupportExamples.model_validate(self._pick(use))
            origin = Provenance.model_validate(stored.get("provenance"))
            pool = read_pool(stored) if answer.form.nearest else None
            prompt = PromptOfAnswer(
                record, answer, origin, pool, stored.get("most_tokens"), stored.get("opening_tokens") or 0
            )
            return AskedPrompt(prompt.classifier(), answer.use)
        except (ValidationError, InvalidConfig) as error:
            raise NoResult(OTHER_RELEASE) from error

    def render(self, body: RenderBody, classifier: Classifier | None) -> Rendered:
        """The prompts for each input: of the support examples, or of this classifier.

        Raises:
            NoClassifier: the classifier reads no label probabilities, so its prompts alone classify nothing.
            NoResult: another release stored the result without its task.
        """
        inputs = body.inputs if body.inputs is not None else [body.input or ""]
        record = self._read_task()
        if classifier is None:
            answer = self._pick(body.use)
            examples = [Example(one["row"], one["text"], one["label"]) for one in answer["examples"]]
            beginnings = ["".join(record.task().render_prefix(examples))]
            advice, accuracy, biases = (
                self._advise(answer),
                read_accuracy(answer, answer["use"]),
                answer["label_biases"],
            )
        else:
            _check_head(classifier)
            record, beginnings = classifier.task, [prompt.text for prompt in classifier.prompts]
            advice, biases = self._advise_classifier(classifier), ()
            accuracy = None if classifier.test is None else classifier.test.accuracy
        task = record.task()
        rendered = [(number, task.join_prompt(one, text)) for number, text in enumerate(inputs) for one in beginnings]
        return Rendered(
            **dict(advice),
            selection_id=self.selection_id,
            partial=bool(self.result.get("partial")),
            label_words=record.label_words,
            label_biases=biases,
            prompts=[
                RenderedPrompt(input=number, prompt=prompt, characters=len(prompt)) for number, prompt in rendered
            ],
            accuracy=accuracy,
        )

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


@dataclass(frozen=True, slots=True)
class Export:
    """Support examples that are exported."""

    source: Source
    load_pool: Callable[[], Pool | None]

    @property
    def digest(self) -> str:
        """Of the prompt, as evaluations name it."""
        return digest_prompt(self.source.task, self.source.answer)

    @property
    def version(self) -> str:
        """Text that differs whenever a file differs."""
        source = self.source
        return f"{source.task.model_dump_json()}{source.answer.model_dump_json()}{source.model}{source.best}"

    def answer(self, format: ExportName, measured: MeasuredForm | None) -> Response:
        """The file, or an archive of files, with what an evaluation found of its form."""
        if format == "folder":
            content = pack(write_folder(self.source, self.load_pool()))
            headers = {
                "Content-Disposition": 'attachment; filename="prompt.zip"',
                "X-Format-Matches-Evaluation": "true",
                **_describe_form(self.source.chosen),
            }
            return Response(content, media_type=ZIP_TYPE, headers=headers)
        kind = FORMATS[format]
        headers = {
            "Content-Disposition": f'attachment; filename="support-examples{kind.suffix}"',
            "X-Format-Matches-Evaluation": "true" if kind.is_evaluated_prompt(self.source.task) else "null",
            **_describe_form(self.source.answer),
        }
        if measured is not None:
            headers |= measured.headers
        return Response(write_export(self.source, format), media_type=kind.media_type, headers=headers)


def _describe_form(answer: SupportExamples) -> dict[str, str]:
    """Headers of an export that has this prompt."""
    accuracy = None if answer.test is None else answer.test.accuracy
    return {"X-Prompt-Form": answer.form.name, "X-Prompt-Accuracy": json.dumps(accuracy)}


def read_accuracy(answer: Mapping[str, Any], use: Use) -> float | None:
    """Accuracy of stored support examples on the test rows, as this use reads them."""
    figure = answer.get("without_biases" if use == "prompt" else "with_biases")
    return None if figure is None else figure["accuracy"]


def _check_head(classifier: Classifier) -> None:
    if classifier.head.kind not in PROMPTS_HEAD_KINDS:
        what = classifier.head.kind.replace("_", " ")
        raise NoClassifier(f"the classifier reads {what}, which no prompt shows; download it, and run lens classify")
