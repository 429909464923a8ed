"""`lens up`: the whole service on one machine, until Ctrl-C."""

import json
import os
import re
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lens_cli.refusals import read_settings, refusing
from lens_cli.sample import submission_line
from lens_cli.service.commands import check_host
from lens_cli.signals import interruptible
from lens_engine.model.local.model_files import check_files, resolve_model

_MAX_NAME_CHARACTERS = 100
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model, and the name that clients know it by."""

    name: str  #: what a spec calls the model
    reference: str  #: what the worker loads; the path of a folder or file is absolute

    @classmethod
    def find(cls, reference: str) -> "OfferedModel":
        """Find a bundled model, a folder, a .gguf file or a hub id, and look at its files."""
        source = resolve_model(reference)
        check_files(source)
        if source.kind in ("bundled", "hub"):
            return cls(reference, reference)
        path = Path(reference).expanduser().absolute()
        return cls(_name_of(path), str(path))

    @property
    def environment(self) -> dict[str, str]:
        """Settings of an API and a worker that know this model alone."""
        return {"LENS_ALLOWED_MODELS": json.dumps({self.name: self.reference}), "LENS_DEFAULT_MODEL": self.name}


def _name_of(path: Path) -> str:
    """The last part of a path in characters that the settings allow. A folder may be called `Llama-3.2-1B`."""
    last = path.name if path.name not in ("", "..") else path.resolve().name
    plain = _NOT_OF_A_NAME.sub("-", last.removesuffix(".gguf")).strip(".-_")
    return plain[:_MAX_NAME_CHARACTERS] or "model"


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
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")  # XDG base directories
    folder = (data_dir or home / "lens").expanduser().resolve()
    try:
        with refusing(), interruptible():
            say, named, environment = partial(console.print, soft_wrap=True, markup=False), "", dict[str, str]()
            if model is not None:
                with console.status(Text(f"Looking at the model {model}")):  # which may be downloaded
                    offered = OfferedModel.find(model)
                named, environment = f" with the model {offered.name}", offered.environment
            say(f"Starting Postgres, Redis, the API and a worker{named} over {folder} …")
            with running_stack(StackSpec(folder, host, port, environment=environment), say) as stack:
                _greet(stack.url, folder, console)
                while True:
                    stack.look_after()
                    time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        console.print("Stopped.")


def _greet(url: str, folder: Path, console: Console) -> None:
    told = "drop a file there, follow the search, read the result, and give it a name for production."
    console.print(Text.assemble("Open ", (url, "bold cyan"), f" in a browser: {told}"), soft_wrap=True)
    console.print(f"The API: {url}/docs lists the calls, {url}/openapi.json describes them.", soft_wrap=True)
    console.print(f"Logs: {folder}/*.log. Ctrl-C stops everything.\n", soft_wrap=True)
    console.print("To submit a dataset without the page:", style="bold")
    console.print(Text(submission_line(url)), soft_wrap=True)
