"""A selection on this machine: files in, model loaded, bar shown, result written."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.columns import find_columns
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal
from lens_cli.signals import StopRequest, interruptible
from lens_cli.views.notes import show_note
from lens_cli.views.progress import SelectionBar, selection_bar
from lens_engine.config import SelectionConfig
from lens_engine.disk.replace_file import replace_file
from lens_engine.errors import Faults, InvalidDataset, NothingSelected
from lens_engine.language_model.open_model import LanguageModel, open_model
from lens_engine.metering.progress import Progress
from lens_engine.pipeline import select_support_examples
from lens_engine.pricing.estimate import CostEstimate
from lens_engine.reading import BadRows, ParsedDataset, ParsingLimits, parse_dataset
from lens_engine.reading.columns import LABEL, TEXT
from lens_engine.result import SelectionResult
from lens_engine.rows.cleaning import clean_problem
from lens_engine.rows.label_rows import find_unknown_labels
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import FileCheckpointStore
from lens_engine.run.preparation import estimate_cost
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import DEFAULT_MAX_BYTES, remember_pairs
from lens_engine.task.request import TaskRequest
from lens_engine.types import Example, StopReason

_KEPT = "what was scored is kept, run the same command again to go on"
_LOST = "nothing is kept, because the pair cache is off and there is no checkpoint yet"


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a dataset, and the names of their columns."""

    train: Path
    test: Path | None = None
    text_column: str | None = None  #: None: `text`, or the column with this name in another case
    label_column: str | None = None

    def read(self, faults: Faults) -> "ReadSources":
        """Read both files.

        Args:
            faults: takes the bad rows, so that the good ones can be looked at for further faults.

        Raises:
            InvalidDataset: a file cannot be read as a table; the error lists all faults so far.
            OSError: a file cannot be read.
        """
        (text, label), notes = find_columns(self.train, {TEXT: self.text_column, LABEL: self.label_column})
        rows = dict[str, tuple[Example, ...]]()
        for field, path in (("dataset", self.train), ("test", self.test)):
            if path is None:
                continue
            try:
                parsed = _parse(path, text, label, field)
            except InvalidDataset as error:
                faults.found.append(error)
                rows[field] = error.others if isinstance(error, BadRows) else ()
            else:
                rows[field] = parsed.examples
                notes += [f"{field}: {warning}" for warning in parsed.warnings]
        if not all(rows.values()):
            faults.refuse()
        return ReadSources(rows["dataset"], rows.get("test"), tuple(notes))


@dataclass(frozen=True, slots=True)
class ReadSources:
    """The good rows of the files, and what was read although it may surprise."""

    dataset: tuple[Example, ...]
    test: tuple[Example, ...] | None
    notes: tuple[str, ...]


def _parse(path: Path, text: str, label: str, field: str) -> ParsedDataset:
    return parse_dataset(path, ParsingLimits.of_own_files(), field=field, text_column=text, label_column=label)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and how it is run; `auto` leaves that to the machine."""

    reference: str
    dtype: str
    device: str
    actors: int = 1  #: more than one are started by Ray
    ray_address: str | None = None  #: of a cluster; None for this machine


@dataclass(frozen=True, slots=True)
class SelectionRun:
    """A problem that has been checked, and how it is to be solved."""

    problem: Problem
    config: SelectionConfig
    notes: tuple[str, ...] = ()  #: what was taken from the files but may surprise
    warnings: tuple[str, ...] = ()  #: of the splits; the result has them too

    @classmethod
    def prepare(cls, sources: Sources, asked: TaskRequest, config: SelectionConfig) -> "SelectionRun":
        """Read the files and refuse what cannot work, before any model is loaded.

        Raises:
            InvalidInput: with the field, and the row if one is to blame; the error lists the faults of both files.
            OSError: a file cannot be read.
        """
        faults = Faults()
        read = sources.read(faults)
        with faults.noting():
            task = asked.complete(read.dataset, join_spellings=config.labels.join_spellings)
            problem = Problem(task, read.dataset, read.test)
            if faults.found:  # the bad rows are missing wherever rows are counted
                faults.found += find_unknown_labels(task.labels, clean_problem(problem, config.labels))
            else:
                split = split_examples(problem, config)
        faults.refuse()
        return cls(problem, config, (*read.notes, *asked.list_defaults(split.task), *split.notes), split.warnings)

    def show_notes(self, console: Console) -> None:
        for note in self.notes:
            show_note(note, console)

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
        request = StopRequest()
        with selection_bar(console) as bar, request.listening(bar.begin_to_stop):
            try:
                result = select_support_examples(
                    self.problem,
                    model.scorer,
                    self.config,
                    listener=BarListener(bar, request),
                    checkpoints=store,
                )
            except NothingSelected as error:
                bar.stop("Stopped")
                if error.stop_reason != StopReason.CANCELLED:
                    raise
                is_kept = remembers or (checkpoint is not None and checkpoint.exists())
                raise Refusal(f"{error}; {_KEPT if is_kept else _LOST}", exit_code=EXIT_INTERRUPTED) from error
            if result.partial:
                bar.stop("Stopped")
            else:
                bar.finish("Done")
        return result


def estimate_run(run: SelectionRun, scorer: LabelScorer, console: Console) -> CostEstimate:
    """Price a run without running it.

    Raises:
        LensError: as `estimate_cost`.
    """
    with selection_bar(console, transient=True) as bar, interruptible():
        bar.wait("Measuring the speed of the model")
        return estimate_cost(run.problem, scorer, run.config)


@contextmanager
def opened_model(
    choice: ModelChoice, console: Console, *, checkpoint: Path | None = None, remembers: bool = True
) -> Iterator[LanguageModel]:
    """Load the model with a live bar, in the number format of the checkpoint if there is one.

    Args:
        remembers: whether scores are looked up in the pair cache and kept there.

    Raises:
        LensError: as `load_scorer`, or the checkpoint cannot be read.
        KeyboardInterrupt: at Ctrl-C while the model is loaded.
    """
    earlier = None if checkpoint is None else FileCheckpointStore(checkpoint).load()
    dtype = choice.dtype if earlier is None else earlier.dtype
    with ExitStack() as exits:
        with selection_bar(console, transient=True) as bar, interruptible():
            bar.wait(f"Loading {choice.reference}")
            model = exits.enter_context(_opened(choice, dtype, remembers=remembers))
        yield model


class BarListener:
    """Passes progress to the bar, and a stop signal to the engine."""

    def __init__(self, bar: SelectionBar, request: StopRequest) -> None:
        self._bar = bar
        self._request = request

    def on_progress(self, progress: Progress) -> None:
        self._bar.show(progress)

    def stop_requested(self) -> StopReason | None:
        return StopReason.CANCELLED if self._request.is_made else None


def write_result(result: SelectionResult, path: Path) -> None:
    """Write it as JSON, whole or not at all."""
    replace_file(path, (result.model_dump_json(indent=2) + "\n").encode())


def warn_of_loss(console: Console) -> None:
    """Say that the run will leave no file."""
    note = "no file will be written; add --classifier classifier.json to keep the classifier"
    show_note(note, console)


def show_files(result: SelectionResult, output: Path | None, classifier: Path | None, console: Console) -> None:
    """Say which files were written, and the command that uses the classifier."""
    written = [] if output is None else [f"{output} (with the single prompt as text: prompt)"]
    kept = result.classifier
    if classifier is not None and kept is not None:
        written.append(f"{classifier} (prompts: {len(kept.prompts)}, head: {kept.head.kind})")
    if written:
        console.print(Text(f"Written: {', '.join(written)}"), soft_wrap=True)
    if classifier is not None and kept is not None and kept.holds_words:
        console.print(Text(f"{classifier} holds words of your texts."), soft_wrap=True)
    if classifier is not None:
        words = ["lens", "classify", "new.csv", "--classifier", str(classifier), "--output", "predictions.csv"]
        console.print(Text(f"Next: {shlex.join(words)}"), soft_wrap=True)


def write_classifier(result: SelectionResult, path: Path, console: Console) -> bool:
    """Write the classifier to use and return True, or say that there is none."""
    classifier = result.classifier
    if classifier is None:
        note = f"the run ended before it made a classifier; {path} was not written"
        show_note(note, console)
    else:
        classifier.save(path)
    return classifier is not None


@contextmanager
def _opened(model: ModelChoice, dtype: str, *, remembers: bool) -> Iterator[LanguageModel]:
    """The model in this process, or in actors that end with the block."""
    if model.actors == 1 and model.ray_address is None:
        cache_bytes = DEFAULT_MAX_BYTES if remembers else None
        yield open_model(model.reference, dtype=dtype, device=model.device, pair_cache_bytes=cache_bytes)
        return
    from lens_engine.language_model.ray.scorer import RayScorer

    with RayScorer.start(
        model.reference, actors=model.actors, address=model.ray_address, dtype=dtype, device=model.device
    ) as scorer:
        yield LanguageModel(remember_pairs(scorer) if remembers else scorer)
