"""`lens select`: one selection in this process, with no service around it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.refusals import EXIT_INTERRUPTED, refusing
from lens_engine.config import MethodName, PresetName
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.types import StopReason


def select(
    train: Annotated[Path, typer.Argument(help="Labelled examples: CSV, JSONL or Parquet with `text` and `label`.")],
    template: Annotated[
        str, typer.Option(help="A prompt with one {text} and, after it, one {label}, as in '{text} It was {label}.'")
    ],
    verbalizer: Annotated[
        list[str], typer.Option(metavar="LABEL=WORD", help="A label's word in the prompt; once for each label.")
    ],
    test: Annotated[
        Path | None, typer.Option(help="Rows for the report; without it, a share of TRAIN is held out.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="A bundled name, a folder, a .gguf file, or a Hugging Face hub id.")
    ] = BUNDLED_MODEL,
    method: Annotated[
        MethodName | None,
        typer.Option(
            help="LENS, or a rival of the paper's table to compare with; coreset methods fine-tune the model first.",
            show_default="lens",
        ),
    ] = None,
    preset: Annotated[PresetName, typer.Option(help="A whole configuration to start from.")] = "standard",
    seed: Annotated[int | None, typer.Option(min=0, help="The one source of randomness.", show_default="0")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Laid over the preset, as in search.beam_width=8; repeatable."),
    ] = None,
    separator: Annotated[str, typer.Option(help="What ends a demonstration.", show_default="a line break")] = "\n",
    dtype: Annotated[
        str, typer.Option(help="float32, bfloat16, float16, or auto: the most precise of the fast ones.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps, or auto for CUDA where there is one.")] = "auto",
    actors: Annotated[
        int, typer.Option(min=1, help="Processes that share the run, a GPU for each where there are GPUs.")
    ] = 1,
    ray_address: Annotated[
        str | None, typer.Option(help="A running Ray cluster to start them on: HOST:PORT, or auto.")
    ] = None,
    pair_cache: Annotated[
        bool, typer.Option(help="Use scores that an earlier run computed, and keep those of this one for later runs.")
    ] = True,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Kept up to date on the way; a run that finds its own goes on from it.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write the whole result as JSON.")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Show what the run would cost, and stop.")] = False,
) -> None:
    """Find the support examples of a dataset, here and now, without any service.

    Ctrl-C stops at the next convenient point and keeps the best permutation found so far; a second
    one gives up at once.

    Example:

        lens select train.csv --template '{text} It was {label}.' \\
          --verbalizer positive=great --verbalizer negative=terrible \\
          --preset quick --output result.json
    """
    from lens_cli.select.options import read_config, read_task
    from lens_cli.select.run import ModelChoice, SelectionRun, Sources, check_output, write_result
    from lens_cli.views.cost import show_estimate
    from lens_cli.views.result import show_result

    try:
        with refusing():
            check_output(output)
            task, config = read_task(template, verbalizer, separator), read_config(preset, seed, method, option or [])
            run = SelectionRun.prepare(Sources(train, test), task, config)
            console = Console(stderr=True)
            run.show_notes(console)
            choice = ModelChoice(model, dtype, device, actors, ray_address)
            if estimate:
                show_estimate(run.estimate(choice, console), Console(highlight=False))
                return
            result = run.execute(choice, checkpoint, console, remembers=pair_cache)
            if output is not None:
                write_result(result, output)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    show_result(result, Console(highlight=False))
    if result.stop_reason is StopReason.CANCELLED:
        raise typer.Exit(EXIT_INTERRUPTED)
