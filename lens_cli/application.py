"""The Typer application `lens`: registers every command and shows refusals."""

import gc
import sys
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.classify.command import classify
from lens_cli.documents import export, report
from lens_cli.evaluate.command import evaluate
from lens_cli.label_next import label_next
from lens_cli.refusals import Refusal, show_refusal
from lens_cli.select.command import select
from lens_cli.service.commands import answer, create_keys, migrate, serve, work
from lens_cli.service.up import up
from lens_cli.suggest.command import suggest
from lens_engine import __version__
from lens_engine.model.local.choices import let_threads_sleep

_ALLOCATIONS_BEFORE_COLLECTION = 50_000
"""Python's default is 700 or 2,000. Importing torch and transformers makes a million objects and no garbage. To look
through them again and again takes a tenth of the time of `lens suggest`."""

_SERVICE = "The service"
_ENGINE = "On this machine, without the service"
_WITH_LOGS = ("serve", "worker", "answers", "migrate")
"""Processes of the service: everything that they say is a line of the log."""


def create_application() -> typer.Typer:
    """Build the Typer application with every command."""
    application = typer.Typer(
        name="lens",
        help="Lens finds the cheapest thing that classifies your texts: counting words, sentence embeddings, a "
        "classifier on your CPU, or a prompt with the right examples. Your own labelled rows tell them apart, and no "
        "text leaves your machine unless you ask a server.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_root)
    application.command("suggest", rich_help_panel=_ENGINE)(suggest)
    application.command("select", rich_help_panel=_ENGINE)(select)
    application.command("classify", rich_help_panel=_ENGINE)(classify)
    application.command("label-next", rich_help_panel=_ENGINE)(label_next)
    application.command("evaluate", rich_help_panel=_ENGINE)(evaluate)
    application.command("report", rich_help_panel=_ENGINE)(report)
    application.command("export", rich_help_panel=_ENGINE)(export)
    application.command("demo", rich_help_panel=_SERVICE)(demo)
    application.command("up", rich_help_panel=_SERVICE)(up)
    application.command("serve", rich_help_panel=_SERVICE)(serve)
    application.command("worker", rich_help_panel=_SERVICE)(work)
    application.command("answers", rich_help_panel=_SERVICE)(answer)
    application.command("migrate", rich_help_panel=_SERVICE)(migrate)
    application.add_typer(create_keys(), name="keys", rich_help_panel=_SERVICE)
    return application


def main() -> None:
    """Run the command line. A refusal ends as a message and an exit code, without a traceback."""
    gc.set_threshold(_ALLOCATIONS_BEFORE_COLLECTION)
    let_threads_sleep()
    try:
        create_application()()
    except Refusal as refusal:
        show_refusal(refusal, Console(stderr=True))
        sys.exit(refusal.exit_code)


def demo(
    keep: Annotated[bool, typer.Option("--keep", metavar="", help="Leave everything open until Ctrl-C.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", metavar="", help="Print every table, and a prompt.")] = False,
) -> None:
    """Show Lens at work: the whole service on this machine, one real selection over HTTP.

    Takes a few minutes on two processor cores, and leaves nothing running and nothing behind.
    """
    from lens_cli.demo import show_demo

    show_demo(keep=keep, verbose=verbose)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"lens {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    del version  # the callback has handled it
    if context.invoked_subcommand not in _WITH_LOGS:
        from lens_cli.views.progress import steps_on_stderr

        context.with_resource(steps_on_stderr())
