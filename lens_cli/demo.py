"""`lens demo`: the whole service on this machine, and one selection by its HTTP API, to a prompt for production."""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, RefusedInput, read_settings, refusing
from lens_cli.sample import DEMO_SPEC, NEW_INPUTS, SAMPLE, SAMPLE_FOLDER
from lens_cli.service.stack import Stack, StackSpec, find_free_port, running_stack
from lens_cli.signals import interruptible
from lens_cli.views.progress import SelectionBar, selection_bar
from lens_cli.views.result import draw_ways, show_result
from lens_client import LensClient, LensError, Problem
from lens_client.models import Classified, Selection
from lens_engine.metering.progress import Progress
from lens_engine.model.local.model_files import BUNDLED_MODEL, mention_first_load, resolve_model
from lens_engine.prompt.wording import describe_seconds
from lens_engine.result import SelectionResult

DEMO_ENVIRONMENT = {
    "LENS_REQUIRE_KEYS": "false",
    "LENS_ALLOWED_MODELS": json.dumps({BUNDLED_MODEL: BUNDLED_MODEL}),
    "LENS_DEFAULT_MODEL": BUNDLED_MODEL,
    "LENS_RETRY_AFTER_SECONDS": "1",
}
"""What the demonstration needs, over a `.env` that is meant for a service of one's own."""

_NAME = SAMPLE.replace("_", "-")
_LOOK_SECONDS = 0.5
_UNSURE = 0.6  # the probability below which an answer is marked
_PROGRESS = TypeAdapter(Progress)


def show_demo(*, keep: bool = False, verbose: bool = False) -> None:
    """Start everything, run one selection over HTTP, show what came out, and take everything down.

    Args:
        keep: leave everything running, with the page of the selection, until Ctrl-C.
        verbose: show every table, and a prompt for a new text.
    """
    console = Console(highlight=False)
    started, took = time.monotonic(), ""
    try:
        with interruptible(), tempfile.TemporaryDirectory(prefix="lens-demo-") as folder:
            if not (SAMPLE_FOLDER / "train.csv").exists():
                message = f"the sample dataset is not at {SAMPLE_FOLDER}; run the demo in a checkout of the repository"
                raise RefusedInput(message)
            console.print("Lens on some 100 labelled reviews of a shop. No text leaves this machine.")
            with refusing():
                mention_first_load(resolve_model(BUNDLED_MODEL), read_settings().cache_dir)
            spec = StackSpec(Path(folder), "127.0.0.1", find_free_port(), durable=False, environment=DEMO_ENVIRONMENT)
            with running_stack(spec, lambda text: console.print(Text(text), soft_wrap=True)) as stack:
                page = tell_story(stack, console, verbose=verbose)
                took = describe_seconds(time.monotonic() - started)
                if keep:
                    console.print(f"Open {page} in a browser. Everything runs until Ctrl-C.", soft_wrap=True)
                while keep:
                    stack.look_after()
                    time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        if keep and took:
            console.print("Stopped.")
            return
        raise Refusal("stopped; nothing is left running", exit_code=EXIT_INTERRUPTED) from None
    console.print(f"Everything is stopped. It took {took}. `make demo KEEP=1` leaves the page.", style="dim")


def tell_story(stack: Stack, console: Console, *, verbose: bool = False) -> str:
    """One selection of the sample dataset, by a client of a running service. Returns the address of its page."""
    with refusing_problems(stack), LensClient(stack.url, trust_env=False) as client:
        train, test = SAMPLE_FOLDER / "train.csv", SAMPLE_FOLDER / "test.csv"
        selection_id = client.selections.submit(train, test=test, spec=DEMO_SPEC).id
        page = f"{stack.url}/pages/selections/{selection_id}"
        console.print(f"Page, while this runs: {page}", soft_wrap=True)
        with selection_bar(console) as bar:
            bar.wait("Loading the model")
            client.selections.wait(selection_id, on_change=lambda selection: _follow(selection, bar, stack))
            bar.finish("Done")
        console.print()
        found = client.selections.result(selection_id, pool=True)
        stored = {name: value for name, value in found.items() if name not in ("selection_id", "pool_rows")}
        result = SelectionResult.model_validate(stored)
        if verbose:
            show_result(result, console)
        else:
            console.print(Text(result.verdict.sentence, style="bold"), "", draw_ways(result), sep="\n")
        client.prompts.put(_NAME, selection_id=selection_id, note="of the demonstration")
        console.print(f"\nThree new reviews, by POST /prompts/{_NAME}/classify:", style="bold")
        answers = client.prompts.classify(_NAME, list(NEW_INPUTS))
        assert isinstance(answers, Classified)
        for text, one in zip(NEW_INPUTS, answers.answers, strict=True):
            console.print(Text(show_answer(text, str(one.label), one.probability or 0.0)))
        if verbose:
            rendered = client.prompts.render(_NAME, NEW_INPUTS[0])
            console.print(f"\nThe prompt for the first, by POST /prompts/{_NAME}/render:", style="bold")
            console.print(Text(f"{rendered.reason}\n\n{rendered}"), soft_wrap=True)
    console.print("Your own file:  . .venv/bin/activate; lens select FILE.csv --report report.html")
    console.print("In a browser:   lens up")
    return page


def show_answer(text: str, label: str, probability: float) -> str:
    """An answer beside its text."""
    return f"  {label:9}{probability:4.0%} {'unsure' if round(probability, 2) < _UNSURE else '':6}  {text}"


def _follow(selection: Selection, bar: SelectionBar, stack: Stack) -> None:
    """Show the progress, and look after the service: a worker is started again, the end of the API is an error."""
    stack.look_after()
    if selection.progress is not None:
        bar.on_progress(_PROGRESS.validate_python(selection.progress))


@contextmanager
def refusing_problems(stack: Stack) -> Iterator[None]:
    """Turn what the service refuses, and its end, into a refusal."""
    try:
        yield
    except Problem as problem:
        details = tuple(f"{one.get('pointer', '')}: {one.get('detail', '')}" for one in problem.errors)
        raise Refusal(str(problem), details=details) from problem
    except LensError as error:
        stack.look_after()
        raise Refusal(str(error)) from error
