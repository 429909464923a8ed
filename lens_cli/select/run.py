"""A selection on this machine: files in, model loaded, bar shown, result written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.signals import StopRequest
from lens_cli.views.progress import SelectionBar, selection_bar
from lens_engine.config import SelectionConfig
from lens_engine.disk.replace_file import replace_file
from lens_engine.language_model.open_model import LanguageModel, open_model
from lens_engine.metering.progress import Progress
from lens_engine.pipeline import select_support_examples
from lens_engine.pricing.estimate import CostEstimate
from lens_engine.reading import ParsingLimits, parse_dataset
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import FileCheckpointStore
from lens_engine.run.preparation import estimate_cost
from lens_engine.scoring.cache.scorer import DEFAULT_MAX_BYTES, remember_pairs
from lens_engine.task.request import TaskRequest
from lens_engine.types import StopReason


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a dataset."""

    train: Path
    test: Path | None


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

    @classmethod
    def prepare(cls, sources: Sources, asked: TaskRequest, config: SelectionConfig) -> "SelectionRun":
        """Read the files and refuse what cannot work, before any model is loaded.

        Raises:
            InvalidInput: with the field, and the row if one is to blame.
            OSError: a file cannot be read.
        """
        limits = ParsingLimits.of_own_files()
        test = None if sources.test is None else parse_dataset(sources.test, limits, field="test")
        dataset = parse_dataset(sources.train, limits, field="dataset")
        task = asked.complete(dataset.examples)
        problem = Problem(task, dataset.examples, None if test is None else test.examples)
        split_examples(problem, config)
        notes = [f"dataset: {warning}" for warning in dataset.warnings]
        notes += [f"test: {warning}" for warning in (test.warnings if test is not None else ())]
        notes += asked.list_defaults(task)
        return cls(problem, config, tuple(notes))

    def show_notes(self, console: Console) -> None:
        for note in self.notes:
            console.print(Text.assemble(("note: ", "yellow"), note), soft_wrap=True)

    def execute(
        self, model: ModelChoice, checkpoint: Path | None, console: Console, *, remembers: bool = True
    ) -> SelectionResult:
        """Load the model and run, with a live bar; the first Ctrl-C asks the engine to stop.

        Args:
            remembers: whether scores are looked up in the pair cache and kept there.

        Raises:
            LensError: as `load_scorer` and `select_support_examples`.
            KeyboardInterrupt: at the second Ctrl-C.
        """
        store = None if checkpoint is None else FileCheckpointStore(checkpoint)
        earlier = None if store is None else store.load()
        request = StopRequest()
        with selection_bar(console) as bar, request.listening(lambda: bar.wait("Stopping after the current batch")):
            bar.wait(f"Loading {model.reference}")
            dtype = earlier.dtype if earlier is not None else model.dtype
            with _opened(model, dtype, remembers=remembers) as opened:
                result = select_support_examples(
                    self.problem,
                    opened.scorer,
                    self.config,
                    listener=BarListener(bar, request),
                    checkpoints=store,
                    fine_tuner=opened.fine_tuner,
                )
            if result.partial:
                bar.stop("Stopped")
            else:
                bar.finish("Done")
        return result

    def estimate(self, model: ModelChoice, console: Console) -> CostEstimate:
        """Load the model and price the run, without running it.

        Raises:
            LensError: as `load_scorer` and `estimate_cost`.
        """
        with selection_bar(console) as bar:
            bar.wait(f"Loading {model.reference}")
            with _opened(model, model.dtype, remembers=False) as opened:
                bar.wait("Measuring its pace")
                return estimate_cost(self.problem, opened.scorer, self.config)


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


def write_classifier(result: SelectionResult, path: Path, console: Console) -> None:
    """Write the classifier to use, or say that there is none."""
    classifier = result.usable_classifier
    if classifier is None:
        note = f"the run ended before it made a classifier; {path} was not written"
        console.print(Text.assemble(("note: ", "yellow"), note), soft_wrap=True)
    else:
        classifier.save(path)


@contextmanager
def _opened(model: ModelChoice, dtype: str, *, remembers: bool) -> Iterator[LanguageModel]:
    """The model in this process, or in actors that end with the block. Fine-tuning is always in this process."""
    if model.actors == 1 and model.ray_address is None:
        cache_bytes = DEFAULT_MAX_BYTES if remembers else None
        yield open_model(model.reference, dtype=dtype, device=model.device, pair_cache_bytes=cache_bytes)
        return
    from lens_engine.language_model.fine_tuning.fine_tune import FineTunedModel
    from lens_engine.language_model.ray.scorer import RayScorer

    with RayScorer.start(
        model.reference, actors=model.actors, address=model.ray_address, dtype=dtype, device=model.device
    ) as scorer:
        yield LanguageModel(
            remember_pairs(scorer) if remembers else scorer, FineTunedModel(model.reference, model.device)
        )
