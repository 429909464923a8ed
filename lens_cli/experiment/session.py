"""One run of a `lens experiment` command: its data, models, progress lines and output files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from experiments.data.tasks import Datasets
from experiments.findings.finding import Finding
from experiments.findings.writing import write
from experiments.laboratory.laboratory import Laboratory
from experiments.laboratory.models import LoadedModels
from experiments.laboratory.progress import LineObserver
from experiments.laboratory.store import CellStore
from experiments.scales import Scale
from lens_cli.experiment.options import Given
from lens_cli.refusals import EXIT_INTERRUPTED, EXIT_MENDABLE, Refusal, refusing
from lens_cli.signals import interruptible
from lens_engine.reading import ParsingLimits, parse_dataset
from lens_engine.types import Example


@dataclass
class Session:
    """Data, models and console of one command. Models load and files appear only when `laboratory` is used."""

    given: Given
    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))

    @cached_property
    def scale(self) -> Scale:
        """The scale that the options ask for.

        Raises:
            InvalidConfig: as in `Given.scale`.
        """
        return self.given.scale()

    @cached_property
    def datasets(self) -> Datasets:
        return Datasets(self.given.data, read_rows)

    @cached_property
    def observer(self) -> LineObserver:
        return LineObserver(self._say)

    @cached_property
    def laboratory(self) -> Laboratory:
        """The laboratory over the store of finished cells.

        Raises:
            OSError: the folder of the store cannot be created.
        """
        models = LoadedModels(self.given.device, self.given.threads, self.given.remembers)
        return Laboratory(CellStore(self.given.store), self.datasets.find, models, self.observer)

    def publish(self, finding: Finding) -> None:
        """Write the files of a finding and print their paths.

        Raises:
            OSError: the output folder is not writable.
        """
        for path in write(finding, self.given.output):
            self._say(f"wrote {path}")

    def say_how_to_go_on(self) -> None:
        done, total = self.observer.done, self.observer.total
        of_all = f"{done} cells" if total is None else f"{done} of {total} cells"
        self._say(f"Stopped. {of_all} are stored in {self.given.store}. Repeat the command to resume.")

    def _say(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)


@contextmanager
def running(given: Given) -> Iterator[Session]:
    """Open a session. Errors become refusals; a stop signal prints how to resume.

    Raises:
        Refusal: matplotlib is missing, or as in `refusing`.
        typer.Exit: a signal stopped the session.
    """
    session = Session(given)
    if find_spec("matplotlib") is None:
        raise Refusal(
            "matplotlib, which draws the plots, is not installed; run: pip install 'lens-icl[experiments]'",
            exit_code=EXIT_MENDABLE,
        )
    try:
        with refusing(), interruptible():
            yield session
    except KeyboardInterrupt:
        session.say_how_to_go_on()
        raise typer.Exit(EXIT_INTERRUPTED) from None


def read_rows(path: Path) -> tuple[Example, ...]:
    """Read the labelled rows of one file.

    Raises:
        InvalidDataset, OSError: as in `parse_dataset`.
    """
    return parse_dataset(path, ParsingLimits.of_own_files(), field=path.name).examples
