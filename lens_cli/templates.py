"""`lens templates`: the paper's tasks as arguments of `lens select`."""

import shlex
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lens_cli.refusals import RefusedInput
from lens_engine.task.paper_tasks import PAPER_TASKS, PaperTask


def templates(
    name: Annotated[str | None, typer.Argument(help="Name of one task, e.g. sst-2; default: all tasks.")] = None,
) -> None:
    """List the paper's eight tasks: templates, label words and hyper-parameters."""
    if name is not None and name not in PAPER_TASKS:
        raise RefusedInput(f"unknown task {name!r}; the tasks are {', '.join(PAPER_TASKS)}")
    console = Console()
    for task_name in PAPER_TASKS if name is None else [name]:
        task = PAPER_TASKS[task_name]
        console.print(Text(task_name, style="bold"))
        for template in task.templates:
            console.print(Text(f"  {template}"), soft_wrap=True)
        console.print(Text(f"  {select_arguments(task)}", style="dim"), soft_wrap=True)


def select_arguments(task: PaperTask) -> str:
    """Arguments that make `lens select` repeat the paper's task with its first template."""
    arguments = ["--template", task.templates[0]]
    for label, word in task.words.items():
        arguments += ["--verbalizer", f"{label}={word}"]
    arguments += ["--preset", "paper"]
    options = {
        "num_demonstrations": task.num_demonstrations,
        "balanced": str(task.balanced).lower(),
        "filtering.rho": task.rho,
        "filtering.initial_score_size": task.initial_score_size,
    }
    for option, value in options.items():
        arguments += ["--option", f"{option}={value}"]
    return shlex.join(arguments)
