"""Errors of the command line: a message in its own words that says what to do, and an exit code."""

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from lens_engine.errors import (
    BudgetSpent,
    CheckpointError,
    EndpointAway,
    EndpointError,
    InvalidConfig,
    InvalidDataset,
    InvalidInput,
    LensError,
    NothingSelected,
    UnknownModel,
    UnreadableModel,
    UnsafeModel,
)

if TYPE_CHECKING:
    from app.settings import Settings

EXIT_FAILED = 1  #: the machine or the program failed
EXIT_INVALID = 2  #: invalid input: a row, an option, a model, a file
EXIT_INTERRUPTED = 130  #: Ctrl-C, or another stop signal
_FAULTS_OF_A_PATH = {
    errno.ENOENT: "{} does not exist",
    errno.EISDIR: "{} is a folder; name a file",
    errno.ENOTDIR: "{} does not exist: a part of the path is a file, not a folder",
    errno.EACCES: "{} may not be read or written by this user",
    errno.EPERM: "{} may not be read or written by this user",
    errno.EEXIST: "{}: file exists",
    errno.ENAMETOOLONG: "{}: file name too long",
    errno.ELOOP: "{}: too many levels of symbolic links",
    errno.EROFS: "{}: read-only file system",
}
"""What the user can mend by another path."""

_SETTING = re.compile(r'set options\.([a-z_.]+) to "?(\w+)"?')
"""What the engine says of an option that the caller should set."""

_OPTION = re.compile(r"(?<=^where: )(?:model|endpoints|tokenizer|text_column|label_column)$")
"""Fields that the engine names, and that are options of the same name."""

_ENDPOINT = {"where: url": "where: --model", "where: key_variable": "where: --endpoint-key-variable"}
"""Fields of a server, and their options."""

_HOSTED = re.compile(r"model=(.+), key_variable=(\w+)")  #: how the engine says that a server is asked
_PARAMETERS = ("text_column, label_column", "text_column", "label_column", "encoding", "delimiter")


class Refusal(Exception):
    """The command cannot continue. `details` are further lines for the user."""

    def __init__(self, message: str, *, details: tuple[str, ...] = (), exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.details = details
        self.exit_code = exit_code


class RefusedInput(Refusal):
    """What the user gave cannot be used."""

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message, details=details, exit_code=EXIT_INVALID)


@contextmanager
def refusing(advise: Callable[[InvalidDataset], str | None] | None = None) -> Iterator[None]:
    """Turn errors that a user can understand into refusals. Other errors keep their traceback.

    Args:
        advise: the last line of a refusal of a dataset; it may give none.
    """
    try:
        yield
    except InvalidInput as error:
        hint = advise(error) if advise is not None and isinstance(error, InvalidDataset) else None
        details = (*_locate(error), *([] if hint is None else [hint]))
        raise RefusedInput(name_flags(str(error)), *map(name_flags, details)) from error
    except (UnknownModel, UnsafeModel, UnreadableModel) as error:
        told = _HOSTED.sub(r"--model \1 --endpoint-key-variable \2", str(error))
        raise RefusedInput(told, "where: --model") from error
    except CheckpointError as error:
        raise RefusedInput(str(error), "where: --checkpoint; remove the file or name another") from error
    except BudgetSpent as error:
        more = "raise --max-cost and repeat the command; answers on disk cost nothing"
        raise RefusedInput(f"the limit on the cost is reached: {error}", more) from error
    except EndpointAway as error:
        raise Refusal(str(error)) from error
    except EndpointError as error:
        raise RefusedInput(str(error), "where: --model") from error
    except NothingSelected as error:
        raise Refusal(str(error), exit_code=EXIT_INTERRUPTED) from error
    except OSError as error:
        raise _refuse_path(error) from error
    except LensError as error:
        raise Refusal(str(error)) from error


def _refuse_path(error: OSError) -> Refusal:
    """One sentence with the path: what is wrong with it, without the number of the error."""
    if error.filename is None:
        return Refusal(str(error))
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    if error.errno in _FAULTS_OF_A_PATH:
        return RefusedInput(_FAULTS_OF_A_PATH[error.errno].format(name))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Refusal(f"{name} cannot be written: the disk is full")
    return Refusal(f"{name}: {(error.strerror or str(error)).lower()}")


def check_output(
    path: Path | None, option: str = "--output", *, overwrite: bool = True, sources: Sequence[Path | None] = ()
) -> None:
    """Check an output path before the run. One that exists is refused without `overwrite`, one of `sources` always."""
    where = f"where: {option}"
    if path is None:
        return
    if path.is_dir():
        raise RefusedInput(f"{path} is a folder; name a file", where)
    if not path.parent.is_dir():
        raise RefusedInput(f"the folder {path.parent} does not exist", where)
    if path.exists() and not overwrite:
        raise RefusedInput(f"{path} exists; name another file, or add --overwrite to replace it", where)
    if path.exists() and not os.access(path, os.W_OK):
        raise RefusedInput(f"{path} may not be written", where)
    if not os.access(path.parent, os.W_OK):
        raise RefusedInput(f"cannot write to the folder {path.parent}", where)
    if path.exists() and any(one and one.exists() and path.samefile(one) for one in sources):
        raise RefusedInput(f"the output is the file {path} itself; name another file", where)


def read_settings() -> "Settings":
    """Read the service's settings from the environment."""
    from app.settings import Settings

    try:
        return Settings()
    except ValidationError as error:
        details = (_describe_variable(item["loc"], item["msg"]) for item in error.errors())
        raise RefusedInput("the settings are invalid", *details) from error


def show_refusal(refusal: Refusal, console: Console) -> None:
    """Print the message and the details of a refusal."""
    is_asked_for = refusal.exit_code == EXIT_INTERRUPTED
    kind = Text() if is_asked_for else Text("error: ", style="bold red")
    console.print(kind + Text(str(refusal)), soft_wrap=True)
    for detail in refusal.details:
        console.print(Text(f"  {detail}"), soft_wrap=True)


def show_note(note: str, console: Console) -> None:
    """Print on one line, however long, what was read or done although it may surprise."""
    console.print(Text.assemble(("note: ", "yellow"), name_flags(note)), soft_wrap=True)


def _describe_variable(location: tuple[int | str, ...], message: str) -> str:
    name = "_".join(("LENS", *(str(part) for part in location))).upper()
    message = message.removeprefix("Value error, ")
    return f"{name}: {message}" if location else message


def list_settings(error: InvalidInput) -> dict[str, str] | None:
    """The options that fix all faults, with their values; None if a fault needs something else."""
    settings: dict[str, str] = {}
    for fault in error.faults:
        found = _SETTING.findall(fault.detail)
        if not found:
            return None
        settings.update(found)
    return settings


def _locate(error: InvalidInput) -> tuple[str, ...]:
    if isinstance(error, InvalidConfig):
        return tuple(f"where: {fault.field}" for fault in error.faults)
    details = [f"where: {error.field}"]
    if len(error.problems) > 1:  # the message has the first
        details += [f"{problem.field}: {problem.detail}" for problem in error.problems[1:]]
    return tuple(details)


def name_flags(message: str) -> str:
    """The message with the names that options and columns have on the command line."""
    for names in _PARAMETERS:
        message = message.replace(f"({names})", f"({', '.join(map(as_flag, names.split(', ')))})")
    message = re.sub(r"\(encoding: ([\w-]+)\)", r"(add --encoding \1)", message)
    message = _ENDPOINT.get(message, message).replace("(TokenPrices)", "in a file of servers (--endpoints)")
    message = _OPTION.sub(lambda found: as_flag(found[0]), message)
    return _SETTING.sub(lambda found: f"add --option {found[1]}={found[2]}", message)


def as_flag(name: str) -> str:
    """The option of a parameter."""
    return f"--{name.replace('_', '-')}"
