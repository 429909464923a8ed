"""Groups of options: a parameter of a command whose type is a dataclass becomes the options that are its fields."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

import typer
from rich.console import Console

from lens_cli.refusals import EXIT_INTERRUPTED, refusing


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer registers it, which reads signatures: each group is replaced by its fields.

    A field is written as a parameter of a command is: its name is the flag (`text_column` is --text-column), and a
    field without a default is required. Errors that a user can understand become refusals, a stop signal an exit code.
    """
    own = inspect.signature(command, eval_str=True)
    annotations: dict[str, Any] = {name: one.annotation for name, one in own.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        try:
            with refusing():
                command(**given, **made)
        except KeyboardInterrupt:
            Console(stderr=True).print("Stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None

    options = list[inspect.Parameter]()
    for name, one in own.parameters.items():
        options += _list_fields(groups[name]) if name in groups else [one.replace(kind=one.KEYWORD_ONLY)]
    run.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    return run


def _list_fields(group: Any) -> list[inspect.Parameter]:
    hints, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            one.name,
            kind,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
    ]
