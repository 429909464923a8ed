"""An evaluation on this machine: labelled rows in, batch after batch asked, figures out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console

from lens_cli.asked_model import describe_opening
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, show_note
from lens_cli.select.sources import Sources
from lens_cli.subject_file import FoundSubject
from lens_cli.views.progress import row_bar
from lens_engine.errors import Faults
from lens_engine.evaluation.batches import leave_out
from lens_engine.evaluation.evaluation import OPTIMISTIC, Evaluation, classifier_of
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.wording import show_count
from lens_engine.result.parts import EvaluationResult
from lens_engine.rows.problem import digest_examples
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """An evaluation that was checked."""

    evaluation: Evaluation
    notes: Sequence[str] = field(default=())  #: on the rows

    @classmethod
    def prepare(cls, found: FoundSubject, sources: Sources) -> "EvaluationRun":
        """Read the rows and refuse what cannot work, before any model is loaded."""
        evaluation = Evaluation(found.subject, ())
        faults = Faults()
        read = replace(sources, skips_unlabelled=True).read(faults)
        faults.refuse()
        evaluation, notes = _choose_rows(evaluation, found, tuple(read.dataset))
        evaluation.check()
        _, left_out = leave_out(evaluation.classifier.task, evaluation.examples)
        return cls(evaluation, (*read.notes, *notes, *left_out))

    def execute(
        self,
        open_scorer: Callable[[str, str], LabelScorer],
        console: Console,
        model: str | None = None,
        dtype: str | None = None,
    ) -> EvaluationResult:
        """Load the model, ask for every row with a live bar, and measure. None: as the selection has it."""
        for note in self.notes:
            show_note(note, console)
        own, scorer, evaluation = self.evaluation.classifier.model, None, self.evaluation
        with row_bar(console) as bar:
            if own is not None:
                name = model or own.model
                bar.wait(describe_opening(name))
                scorer = open_scorer(name, dtype or (own.dtype if name == own.model else "auto"))
                is_other = model is not None and scorer.identity.revision != own.revision
                evaluation = replace(evaluation, is_other_model=is_other)
            try:
                found = evaluation.run(scorer, bar)
            except Stopped:
                raise Refusal("stopped; nothing is kept", exit_code=EXIT_INTERRUPTED) from None
        if evaluation.is_other_model and scorer is not None:
            show_note(f"{scorer.identity.model} is another model than that of the selection", console)
        if found.num_cut:
            show_note(f"{show_count(found.num_cut, 'text', 'was')} too long and cut, as in the report", console)
        return found.result


def _choose_rows(
    evaluation: Evaluation, found: FoundSubject, rows: tuple[Example, ...]
) -> tuple[Evaluation, Sequence[str]]:
    """The evaluation on the test rows of the selection, if these are its rows; else on all."""
    everything = replace(evaluation, examples=rows)
    digest, made_of = digest_examples(rows), None if found.result is None else found.result.provenance
    if digest == (made_of or classifier_of(evaluation.subject)).dataset_sha256:
        return everything, (OPTIMISTIC,)
    if found.result is None or made_of is None:
        return everything, ()
    if not found.result.has_test or digest != made_of.test_sha256:
        return everything, ()
    tested = set(found.result.answers.rows)
    chosen = tuple(one for one in rows if one.row in tested)
    only = f"of {len(rows):,} test rows, the {len(chosen):,} are judged on which the selection was tested"
    return replace(evaluation, examples=chosen), () if len(chosen) == len(rows) else (only,)
