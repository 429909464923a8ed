"""A selection on this machine: files in, model loaded, bar shown, result written."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from lens_cli.asked_model import ChosenModel, describe_opening
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal
from lens_cli.select.options import SelectionModelOptions
from lens_cli.select.sources import Sources
from lens_cli.select.words import note_silent_words
from lens_cli.signals import interruptible
from lens_cli.views.progress import selection_bar
from lens_engine.classifier.classifier import InputFormat
from lens_engine.config import SelectionConfig
from lens_engine.errors import Faults, NothingSelected
from lens_engine.model.score_cache import remember_pairs
from lens_engine.opening import LanguageModel
from lens_engine.prompt.request import TaskRequest
from lens_engine.result import SelectionResult
from lens_engine.rows.cleaning import clean_problem, find_unknown_labels
from lens_engine.rows.dealing import deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import FileCheckpointStore
from lens_engine.show.report import Texts
from lens_engine.types import Example

_KEPT = "what was scored is kept, run the same command again to go on"
_LOST = "nothing is kept, because the pair cache is off and there is no checkpoint yet"


@dataclass(frozen=True, slots=True)
class SelectionRun:
    """A problem that has been checked, and how it is to be solved."""

    problem: Problem
    config: SelectionConfig
    notes: tuple[str, ...] = ()  #: what was taken from the files but may surprise
    warnings: tuple[str, ...] = ()  #: of the rows; the result has them too
    input: InputFormat | None = None  #: for the classifier
    unlabelled: tuple[Example, ...] = ()  #: rows of the dataset with a text and no label
    name: str = ""  #: of the file of the dataset

    @property
    def texts(self) -> Texts:
        """Texts of the rows of the dataset, and of the test rows."""
        dataset, test = self.problem.examples, self.problem.test or ()
        return Texts({one.row: one.text for one in dataset}, {one.row: one.text for one in test})

    @classmethod
    def prepare(cls, sources: Sources, asked: TaskRequest, config: SelectionConfig) -> "SelectionRun":
        """Read the files and refuse what cannot work, before any model is loaded.

        Raises:
            InvalidInput: with the field, and the row if one is to blame; the error lists the faults of both files.
            OSError: a file cannot be read.
        """
        faults = Faults()
        read = replace(sources, skips_unlabelled=config.rows.unlabelled == "skip").read(faults)
        with faults.noting():
            joins, column = config.labels.join_spellings, read.label_column
            task, others = asked.complete(read.dataset, join_spellings=joins, label_column=column)
            problem = Problem(task, read.dataset, read.test, others)
            if faults.found:  # the bad rows are missing wherever rows are counted
                faults.found += find_unknown_labels(task.labels, clean_problem(problem, config.labels))
            else:
                dealt = deal_rows(problem, config)
        faults.refuse()
        words = note_silent_words(dealt.task.verbalizer)
        notes = (*read.notes, *asked.list_defaults(dealt.task), *words, *dealt.notes)
        return cls(problem, config, notes, dealt.warnings, read.input, read.unlabelled, sources.train.name)

    def execute(
        self, model: LanguageModel, checkpoint: Path | None, console: Console, *, remembers: bool = True
    ) -> SelectionResult:
        """Run with a live bar; the first Ctrl-C asks the engine to stop.

        Args:
            remembers: whether the model has a pair cache.

        Raises:
            Refusal: the run was stopped before any examples were chosen.
            LensError: as `select_support_examples`.
            KeyboardInterrupt: at the second Ctrl-C.
        """
        store = None if checkpoint is None else FileCheckpointStore(checkpoint)
        with selection_bar(console) as bar, bar.listening():
            try:
                result = select_support_examples(
                    self.problem, model.scorer, self.config, listener=bar, checkpoints=store
                )
            except NothingSelected as error:
                bar.stop("Stopped")
                is_kept = remembers or (checkpoint is not None and checkpoint.exists())
                raise Refusal(f"{error}; {_KEPT if is_kept else _LOST}", exit_code=EXIT_INTERRUPTED) from error
            if result.partial:
                bar.stop("Stopped")
            else:
                bar.finish("Done")
        if result.classifier is None:
            return result
        return result.model_copy(update={"classifier": result.classifier.model_copy(update={"input": self.input})})


@contextmanager
def opened_model(
    chosen: ChosenModel,
    options: SelectionModelOptions,
    console: Console,
    *,
    checkpoint: Path | None = None,
    remembers: bool = True,
) -> Iterator[LanguageModel]:
    """Load the model with a live bar, in the number format of the checkpoint if there is one.

    Args:
        remembers: whether scores are looked up in the pair cache and kept there.

    Raises:
        LensError: as `load_scorer`, or the checkpoint cannot be read.
        KeyboardInterrupt: at Ctrl-C while the model is loaded.
    """
    earlier = None if checkpoint is None else FileCheckpointStore(checkpoint).load()
    dtype = options.dtype if earlier is None else earlier.dtype
    with ExitStack() as exits:
        with selection_bar(console, transient=True) as bar, interruptible():
            bar.wait(describe_opening(chosen.reference))
            if options.actors == 1 and options.ray_address is None:
                opening = chosen.opened(
                    dtype=dtype, device=options.device, remembers=remembers, remembers_answers=remembers
                )
                model = exits.enter_context(opening)
            else:
                from lens_engine.model.cluster.scorer import RayScorer

                actors, address = options.actors, options.ray_address
                scorer = RayScorer.start(
                    chosen.reference, actors=actors, address=address, dtype=dtype, device=options.device
                )
                exits.callback(scorer.close)
                model = LanguageModel(remember_pairs(scorer) if remembers else scorer)
        yield model
