"""`lens demo`: the whole service on this machine, and one selection by its HTTP API, to a prompt for production."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, read_settings, refusing
from lens_cli.sample import DEMO_SPEC, NEW_INPUT, NEW_INPUTS, SAMPLE_FOLDER, check_sample, select_line
from lens_cli.service.stack import Stack, StackSpec, find_free_port, running_stack
from lens_cli.signals import interruptible
from lens_cli.views.progress import SelectionBar, selection_bar
from lens_cli.views.result import show_result
from lens_client import LensClient, LensError, Problem
from lens_client.models import Selection
from lens_engine.classifier.classifier import Classifier
from lens_engine.local.model_files import BUNDLED_MODEL, mention_first_load, resolve_model
from lens_engine.metering.progress import Progress
from lens_engine.opening import open_model
from lens_engine.result import SelectionResult
from lens_engine.scoring.base import LabelScorer
from lens_engine.show.words import name_form
from lens_engine.task.wording import describe_seconds

DEMO_ENVIRONMENT = {
    "LENS_REQUIRE_KEYS": "false",
    "LENS_ALLOWED_MODELS": json.dumps({BUNDLED_MODEL: BUNDLED_MODEL}),
    "LENS_DEFAULT_MODEL": BUNDLED_MODEL,
    "LENS_RETRY_AFTER_SECONDS": "1",
}
"""What the demonstration needs, over a `.env` that is meant for a service of one's own."""

_LOOK_SECONDS = 0.5
_PROGRESS = TypeAdapter(Progress)


def show_demo(*, keep: bool = False) -> None:
    """Start everything, run one selection over HTTP, show what came out, and take everything down.

    Args:
        keep: leave everything running, with the page of the selection, until Ctrl-C.

    Raises:
        Refusal: the sample data is not there, a process does not come up, or the selection fails.
    """
    console = Console(highlight=False)
    started, took = time.monotonic(), ""
    try:
        with interruptible(), tempfile.TemporaryDirectory(prefix="lens-demo-") as folder:
            check_sample()
            console.print("Starting Postgres, Redis, the API and a worker, all on this machine …")
            with refusing():
                mention_first_load(resolve_model(BUNDLED_MODEL), read_settings().cache_dir)
            spec = StackSpec(Path(folder), "127.0.0.1", find_free_port(), durable=False, environment=DEMO_ENVIRONMENT)
            with running_stack(spec, lambda text: console.print(Text(text), soft_wrap=True)) as stack:
                page = tell_story(stack, console)
                took = describe_seconds(time.monotonic() - started)
                if keep:
                    _keep_open(stack, page, console)
    except KeyboardInterrupt:
        if keep and took:
            console.print("Stopped.")
            return
        raise Refusal("stopped; nothing is left running", exit_code=EXIT_INTERRUPTED) from None
    console.print(f"Everything is stopped. It took {took}.", style="dim")
    console.print(f"Its page was {page}; `make demo KEEP=1` leaves it open.", soft_wrap=True)


def _keep_open(stack: Stack, page: str, console: Console) -> None:
    console.print(f"Open {page} in a browser. Everything runs until Ctrl-C.", soft_wrap=True)
    while True:
        stack.look_after()
        time.sleep(_LOOK_SECONDS)


def open_scorer(classifier: Classifier) -> LabelScorer | None:
    """The bundled model in this process, in the classifier's number format; none for a classifier without prompts."""
    return None if classifier.model is None else open_model(BUNDLED_MODEL, dtype=classifier.model.dtype).scorer


def tell_story(
    stack: Stack, console: Console, open_scorer: Callable[[Classifier], LabelScorer | None] = open_scorer
) -> str:
    """One selection of the sample dataset, by a client of a running service. Returns the address of its page.

    `open_scorer` opens the model that the classifier asks.
    """
    with refusing_problems(stack), LensClient(stack.url, trust_env=False) as client:
        train, test = SAMPLE_FOLDER / "train.csv", SAMPLE_FOLDER / "test.csv"
        selection_id = client.selections.submit(train, test=test, spec=DEMO_SPEC).id
        console.print(Text(f"POST {stack.url}/selections  →  202, {selection_id}"), soft_wrap=True)
        page = f"{stack.url}/pages/selections/{selection_id}"
        console.print(f"Follow it in a browser: {page}", soft_wrap=True)
        with selection_bar(console) as bar:
            bar.wait("Loading the model")
            client.selections.wait(selection_id, on_change=lambda selection: _follow(selection, bar, stack))
            bar.finish("Done")
        console.print()
        found = client.selections.result(selection_id, pool=True)
        stored = {name: value for name, value in found.items() if name not in ("selection_id", "pool_rows")}
        result = SelectionResult.model_validate(stored)
        console.print(Text(compare_with_zero_shot(result), style="bold"))
        console.print()
        show_result(result, console)
        console.print()
        whole = f"The search was cut to fit six minutes on two slow cores. The whole preset: {select_line(DEMO_SPEC)}"
        console.print(Text(whole), soft_wrap=True)
        _heading("Three new inputs, by the classifier from GET /selections/{id}/classifier", console)
        classifier = Classifier.model_validate(client.selections.classifier(selection_id))
        answers = classifier.predict(NEW_INPUTS, open_scorer(classifier))
        for text, label, shares in zip(NEW_INPUTS, answers.labels, answers.probabilities, strict=True):
            console.print(Text(f"{label} ({shares.max():.2f}): {text}"))
        _heading("The prompt for a new input, from POST /prompts/support-desk/render", console)
        client.prompts.put("support-desk", selection_id=selection_id, note="of the demonstration")
        rendered = client.prompts.render("support-desk", NEW_INPUT)
        console.print(Text(f"{rendered.reason}\n\n{rendered}"), soft_wrap=True)
    console.print("\nThe same by hand: start `lens up`, and open its page; docs/api.md has the curl commands.\n")
    return page


def _follow(selection: Selection, bar: SelectionBar, stack: Stack) -> None:
    """Show the progress, and look after the service: a worker is started again, the end of the API is an error."""
    stack.look_after()
    if selection.progress is not None:
        bar.show(_PROGRESS.validate_python(selection.progress))


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


def compare_with_zero_shot(result: SelectionResult) -> str:
    """How often the chosen prompt is right and how often the prompt without examples; why, if examples do not help."""
    answer = result.answer
    none = next((one.test for one in answer.contenders if one.method == "zero_shot"), None)
    if answer.test is None or none is None:
        return "The run ended before its prompts were tested: run it again, with more time."
    right, without = (round(one.accuracy * one.n) for one in (answer.test, none))
    shown = "no examples" if answer.method == "zero_shot" else name_form(answer.form)
    line = f"Prompt with {shown}: right for {right} of {answer.test.n} test texts. Without examples: {without}."
    if right > without:
        return line
    rows = 0 if answer.judged is None else answer.judged.n
    return (
        f"{line} Examples do not help here: this search is short, and its prompts were compared on {rows} rows, which "
        "do not separate prompts that are a few points apart."
    )


def _heading(text: str, console: Console) -> None:
    console.print()
    console.print(Text(text, style="bold"))
