"""`lens up`: the whole service on one machine, until Ctrl-C."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from lens_cli.refusals import read_settings, refusing
from lens_cli.sample import submission_line
from lens_cli.service.commands import check_host
from lens_cli.signals import interruptible

if TYPE_CHECKING:
    from lens_cli.service.offered_model import OfferedModel

_LOOK_SECONDS = 0.5


def up(
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of Postgres, Redis and the logs; created if missing; default: ~/.local/share/lens."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address the API listens on; another than this machine's own needs API keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port the API listens on.")] = 8000,
    model: Annotated[
        str | None,
        typer.Option(
            help="The only model offered to clients: a bundled name, a folder, a .gguf file, or a Hugging Face hub "
            "id; default: LENS_ALLOWED_MODELS, without it the bundled model."
        ),
    ] = None,
) -> None:
    """Run everything on this machine: Postgres, Redis, the API and a worker, until Ctrl-C.

    With models behind servers (LENS_ENDPOINTS), a second worker asks them. The extra `embedded`
    has both stores. The data stays in the data directory, so a job that was under way goes on at the next
    `lens up`.
    """
    from lens_cli.service.stack import StackSpec, running_stack

    check_host(read_settings(), host)
    console = Console(highlight=False)
    folder = (data_dir or _default_data_dir()).expanduser().resolve()
    try:
        with refusing(), interruptible():
            offered = None if model is None else _find(model, console)
            named = "" if offered is None else f" with the model {offered.name}"
            starting = f"Starting Postgres, Redis, the API and a worker{named} over {folder} …"
            console.print(starting, soft_wrap=True, markup=False)
            environment = {} if offered is None else offered.environment

            def say(text: str) -> None:
                console.print(text, soft_wrap=True, markup=False)

            with running_stack(StackSpec(folder, host, port, environment=environment), say) as stack:
                _greet(stack.url, folder, console)
                while True:
                    stack.look_after()
                    time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        console.print("Stopped.")


def _default_data_dir() -> Path:
    """By the XDG base directory specification."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "lens"


def _find(model: str, console: Console) -> "OfferedModel":
    from lens_cli.service.offered_model import OfferedModel

    with console.status(Text(f"Looking at the model {model}")):  # it may be downloaded, and its digest takes seconds
        return OfferedModel.find(model)


def _greet(url: str, folder: Path, console: Console) -> None:
    told = "drop a file there, follow the search, read the result, and give it a name for production."
    console.print(Text.assemble("Open ", (url, "bold cyan"), f" in a browser: {told}"), soft_wrap=True)
    console.print(f"The API is documented at {url}/docs.", soft_wrap=True)
    console.print(f"Logs: {folder}/*.log. Ctrl-C stops everything.\n", soft_wrap=True)
    console.print("To submit a dataset without the page:", style="bold")
    console.print(Text(submission_line(url)), soft_wrap=True)
