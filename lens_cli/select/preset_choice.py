"""Which preset runs when none is given: on a processor, the one that the user chooses by its cost."""

import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.prompt import Prompt

from lens_cli.refusals import EXIT_MENDABLE, Refusal
from lens_cli.select.advice import write_command
from lens_cli.select.run import SelectionRun, estimate_runs
from lens_cli.views.cost import show_estimates
from lens_engine.config import PresetName
from lens_engine.scoring.base import LabelScorer

_NONE = "none"

USUAL: PresetName = "standard"
"""The preset of a machine with a GPU, on which it takes minutes."""


def choose_preset(runs: Mapping[PresetName, SelectionRun], scorer: LabelScorer, console: Console) -> PresetName:
    """The usual preset on a GPU. On a processor, show what each preset costs, and ask.

    Raises:
        Refusal: nobody can be asked, because input or output is no terminal; or the answer is none.
    """
    names = list(runs)
    if scorer.identity.device != "cpu":
        return USUAL if USUAL in runs else names[0]
    show_estimates(estimate_runs(runs, scorer, console), console)
    if not (sys.stdin.isatty() and console.is_terminal):
        raise _refuse(names)
    try:
        answer = Prompt.ask("Preset", choices=[*names, _NONE], default=names[0], console=console)
    except EOFError:
        raise _refuse(names) from None
    if answer == _NONE:
        raise _refuse(names)
    return next(name for name in names if name == answer)


def _refuse(names: Sequence[PresetName]) -> Refusal:
    commands = tuple(map(write_command, names))
    return Refusal("nothing was run; choose a preset", details=commands, exit_code=EXIT_MENDABLE)
