"""A service that classifies, or judges, in place of a model on this machine."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, RefusedInput

if TYPE_CHECKING:  # commands import this module for their help
    from lens_cli.file_options import TextFileOptions
    from lens_cli.subject_file import SubjectOptions
    from lens_client.models import LabelledFile

_ADDRESS = re.compile(r"(https?://.+)/(prompts|selections)/([^/]+)/?")

_option = partial(typer.Option, rich_help_panel="A service", show_default=False)


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The service that is asked."""

    service: Annotated[
        str | None,
        _option(
            metavar="ADDRESS",
            help="Ask a service, by the address of a name or of a selection, such as "
            "http://127.0.0.1:8000/prompts/triage, in place of a model on this machine.",
        ),
    ] = None
    key_variable: Annotated[
        str,
        _option(metavar="NAME", help="Environment variable that has the API key of the service.", show_default=True),
    ] = "LENS_KEY"

    @contextmanager
    def asking(self) -> Iterator[tuple[Any, str]]:
        """`client.prompts` or `client.selections` of the service, and the name or the id that is asked."""
        from lens_client import LensClient, LensError

        found = _ADDRESS.fullmatch(self.service or "")
        if found is None:
            message = f"{self.service} is no address of a name or a selection; write http://HOST:PORT/prompts/NAME"
            raise RefusedInput(message, "where: --service")
        url, kind, name = found.groups()
        with LensClient(url, api_key=os.environ.get(self.key_variable)) as client:
            try:
                yield getattr(client, kind), name
            except LensError as error:
                raise Refusal(str(error), details=("where: --service",)) from error
            except ValueError as error:
                raise RefusedInput(str(error), "where: --service") from error

    def classify(
        self,
        texts: Path,
        output: Path,
        wish: "SubjectOptions",
        rows: "TextFileOptions",
        answer_above: float | None,
        console: Console,
    ) -> "LabelledFile":
        """Label a file by the service. A repeated command goes on where it was interrupted."""
        with self.asking() as (resource, name), _bar(console, "to go on, repeat the command") as on_batch:
            told = {**wish.wish, "answer_above": answer_above, "on_batch": on_batch, **rows.parts}
            found: LabelledFile = resource.classify(name, texts, output, **told)
        return found

    def evaluate(
        self, dataset: Path, wish: "SubjectOptions", rows: "TextFileOptions", console: Console, *, keep: bool
    ) -> Any:
        """The figures of a name on labelled rows."""
        with self.asking() as (resource, name), _bar(console, "nothing is kept") as on_batch:
            if not hasattr(resource, "evaluate"):
                raise RefusedInput("figures are of a name; write http://HOST:PORT/prompts/NAME", "where: --service")
            told = {**wish.wish, "keep": keep, "on_batch": on_batch, **rows.parts}
            return resource.evaluate(name, dataset, **told)


@contextmanager
def _bar(console: Console, advice: str) -> Iterator[Callable[[int, int], None]]:
    """What shows the rows that are answered, and refuses to go on after a stop signal."""
    from lens_cli.views.progress import row_bar
    from lens_engine.evaluation.batches import RowProgress

    with row_bar(console) as bar:
        bar.wait("Waiting for the service")
        first: tuple[int, float] | None = None

        def show(done: int, total: int) -> None:
            nonlocal first
            rate = None if first is None else (done - first[0]) / (time.monotonic() - first[1])
            first = first or (done, time.monotonic())
            bar.on_rows(RowProgress(done, total, rate))
            if bar.stop_requested() and done < total:
                message = f"stopped after {done:,} of {total:,} rows"
                raise Refusal(message, details=(advice,), exit_code=EXIT_INTERRUPTED)

        yield show
