"""A file of what a selection found: a result, or a classifier."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from lens_cli.refusals import RefusedInput
from lens_engine.config import Use

if TYPE_CHECKING:  # commands import this module for their help, and these are slow to import
    from lens_engine.classifier.classifier import Classifier
    from lens_engine.evaluation.evaluation import Subject
    from lens_engine.result import SelectionResult

WhatIsAsked = Literal["support_examples", "classifier"]

_OF_THE_SERVICE = ("selection_id", "pool_rows")
"""What an answer of `GET /selections/{id}/result` has beside the result."""

_option = partial(typer.Option, rich_help_panel="What of a result is asked", show_default=False)


@dataclass(frozen=True, slots=True)
class SubjectOptions:
    """What of a result is asked."""

    prompts: Annotated[
        WhatIsAsked | None,
        _option(
            metavar="NAME",
            help="What of a result is asked: support_examples or classifier; default: support_examples for lens "
            "evaluate, classifier for lens classify, and what is to be used first with --service.",
        ),
    ] = None
    use: Annotated[
        Use | None,
        _option(
            metavar="NAME",
            help="Use for which the support examples are the best: prompt or probabilities; default: that of the run.",
        ),
    ] = None
    fixed: Annotated[
        bool,
        _option("--fixed", metavar="", help="Ask the prompt of fixed demonstrations, also where another form is best."),
    ] = False

    def of(self, path: Path, **about: Any) -> "SubjectFile":
        """What is asked of a file. `about`: `usual` and `where` of a `SubjectFile`."""
        return SubjectFile(path, self.prompts, self.use, is_fixed=self.fixed, **about)

    @property
    def wish(self) -> dict[str, Any]:
        """What is asked of a service, by its parameters."""
        return {"prompts": self.prompts, "use": self.use, "fixed": self.fixed}


class FoundSubject(NamedTuple):
    """What is asked."""

    subject: "Subject"
    result: "SelectionResult | None"  #: of the selection that found it; None for a classifier's file

    @property
    def classifier(self) -> "Classifier":
        """The subject as a classifier."""
        from lens_engine.evaluation.evaluation import classifier_of

        return classifier_of(self.subject)

    @property
    def name(self) -> str:
        """What is asked, in a few words."""
        from lens_engine.evaluation.evaluation import PromptSubject

        if isinstance(self.subject, PromptSubject):
            form = self.subject.answer.form
            what = f"prompt ({form.name})" if form.nearest else "support examples"
            return f"The {what}, read for the use {self.subject.answer.use}"
        return f"The classifier ({self.subject.head.kind.replace('_', ' ')} head)"


@dataclass(frozen=True, slots=True)
class SubjectFile:
    """A file that `lens select` wrote, and what of it is asked."""

    path: Path
    what: WhatIsAsked | None = None  #: what of a result is asked; None for `usual`
    use: Use | None = None  #: use for which the prompt is the best; None for that of the run
    is_fixed: bool = False  #: whether the prompt of fixed demonstrations is taken, whatever form is the best
    usual: WhatIsAsked = "support_examples"
    where: str = "WHAT"  #: argument or option that names the file

    def read(self) -> FoundSubject:
        from lens_engine.classifier.classifier import Classifier
        from lens_engine.evaluation.evaluation import PromptSubject

        fields = _list_fields(self.path)
        is_classifier = "support_examples" not in fields and ("head" in fields or self.usual == "classifier")
        what = self.what or ("classifier" if is_classifier else self.usual)
        if what == "classifier":
            self._refuse_wishes_of_prompts("" if is_classifier else ", or ask for --prompts support_examples")
        if is_classifier and what == "support_examples":
            told = f"{self.path} is a classifier, without support examples; name a file of --output"
            raise RefusedInput(told, f"where: {self.where}")
        if is_classifier:
            return FoundSubject(Classifier.load(self.path), None)
        result = read_result(self.path, self.where, "is neither a result of lens select --output nor a classifier")
        if what == "support_examples":
            return FoundSubject(PromptSubject.of_result(result, self.use, is_fixed=self.is_fixed), result)
        if result.classifier is None:
            raise RefusedInput(f"{self.path} has no classifier: {result.verdict.sentence}", "where: --prompts")
        return FoundSubject(result.classifier, result)

    def _refuse_wishes_of_prompts(self, remedy: str) -> None:
        if self.use is not None:
            raise RefusedInput(f"a classifier has one use; leave --use out{remedy}", "where: --use")
        if self.is_fixed:
            raise RefusedInput(f"a classifier has no other form; leave --fixed out{remedy}", "where: --fixed")


def read_result(
    path: Path, where: str = "RESULT", otherwise: str = "is no result of lens select --output"
) -> "SelectionResult":
    """The result in a file that `where`, an argument or option, names; `otherwise` is what is said of another file."""
    from lens_engine.result import SelectionResult

    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            found = {name: part for name, part in found.items() if name not in _OF_THE_SERVICE}
        return SelectionResult.model_validate(found)
    except (ValueError, RecursionError) as error:
        raise RefusedInput(f"{path} {otherwise}", f"where: {where}") from error


def _list_fields(path: Path) -> frozenset[str]:
    """Names of the fields of a JSON object; none for another file."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(found) if isinstance(found, dict) else frozenset()
