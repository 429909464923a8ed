"""A selection on this machine: files in, model loaded, bar shown, result shown and written."""

import csv
import io
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from lens_cli.asked_model import ChosenModel, describe_opening
from lens_cli.documents import write_report
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, show_note
from lens_cli.select.options import SelectionFiles, SelectionModelOptions
from lens_cli.select.sources import Sources
from lens_cli.select.words import note_language, note_silent_words
from lens_cli.signals import interruptible
from lens_cli.views.progress import selection_bar
from lens_cli.views.result import show_result, show_summary, show_suspicious_labels
from lens_engine.classifier.classifier import InputFormat
from lens_engine.config import SelectionConfig
from lens_engine.disk import replace_file
from lens_engine.errors import Faults, NothingSelected
from lens_engine.model.score_cache import remember_pairs
from lens_engine.opening import LanguageModel
from lens_engine.prompt.request import TaskRequest
from lens_engine.prompt.wording import show_count
from lens_engine.result import SelectionResult
from lens_engine.rows.cleaning import clean_problem, find_unknown_labels
from lens_engine.rows.dealing import deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import FileCheckpointStore
from lens_engine.show.exports import write_suspicious_labels
from lens_engine.show.report import Texts
from lens_engine.show.tables import list_shown
from lens_engine.types import Example, StopReason

_KEPT = "what was scored is kept, run the same command again to go on"
_WITHOUT_WORDS = "--option classifier.kind=states makes one without them"
_LOST = "nothing is kept, because the pair cache is off and there is no checkpoint yet"


@dataclass(frozen=True, slots=True)
class SelectionRun:
    """A problem that has been checked, and how it is to be solved."""

    problem: Problem
    config: SelectionConfig
    notes: tuple[str, ...] = ()  #: what was taken from the files but may surprise
    warnings: tuple[str, ...] = ()  #: of the rows; the result has them too
    input: InputFormat | None = None  #: for the classifier
    unlabelled: tuple[Example, ...] = ()  #: rows of the dataset with a text and no label
    name: str = ""  #: of the file of the dataset

    @property
    def texts(self) -> Texts:
        """Texts of the rows of the dataset, and of the test rows."""
        dataset, test = self.problem.examples, self.problem.test or ()
        return Texts({one.row: one.text for one in dataset}, {one.row: one.text for one in test})

    @classmethod
    def prepare(cls, sources: Sources, asked: TaskRequest, config: SelectionConfig) -> "SelectionRun":
        """Read the files and refuse what cannot work, with the faults of both, before any model is loaded."""
        faults = Faults()
        read = replace(sources, skips_unlabelled=config.rows.unlabelled == "skip").read(faults)
        with faults.noting():
            joins, column = config.labels.join_spellings, read.label_column
            task, others = asked.complete(read.dataset, join_spellings=joins, label_column=column)
            problem = Problem(task, read.dataset, read.test, others)
            if faults.found:  # the bad rows are missing wherever rows are counted
                faults.found += find_unknown_labels(task.labels, clean_problem(problem, config.labels))
            else:
                dealt = deal_rows(problem, config)
        faults.refuse()
        words = note_silent_words(dealt.task.verbalizer)
        notes = (*read.notes, *asked.list_defaults(dealt.task), *words, *dealt.notes)
        return cls(problem, config, notes, dealt.warnings, read.input, read.unlabelled, sources.train.name)

    def execute(
        self, model: LanguageModel, checkpoint: Path | None, console: Console, *, remembers: bool = True
    ) -> SelectionResult:
        """Run with a live bar; the first Ctrl-C asks the engine to stop, the second is raised. A run that is stopped
        before any examples were chosen is refused, and says what is kept: `remembers` whether there is a pair cache.
        """
        store = None if checkpoint is None else FileCheckpointStore(checkpoint)
        with selection_bar(console) as bar, bar.listening():
            try:
                result = select_support_examples(
                    self.problem, model.scorer, self.config, listener=bar, checkpoints=store
                )
            except NothingSelected as error:
                bar.stop("Stopped")
                is_kept = remembers or (checkpoint is not None and checkpoint.exists())
                raise Refusal(f"{error}; {_KEPT if is_kept else _LOST}", exit_code=EXIT_INTERRUPTED) from error
            if result.partial:
                bar.stop("Stopped")
            else:
                bar.finish("Done")
        if result.classifier is None:
            return result
        return result.model_copy(update={"classifier": result.classifier.model_copy(update={"input": self.input})})


@contextmanager
def opened_model(
    chosen: ChosenModel,
    options: SelectionModelOptions,
    console: Console,
    *,
    checkpoint: Path | None = None,
    remembers: bool = True,
) -> Iterator[LanguageModel]:
    """Load the model with a live bar, in the number format of the checkpoint if there is one.

    `remembers`: whether scores are looked up in the pair cache and kept there.
    """
    earlier = None if checkpoint is None else FileCheckpointStore(checkpoint).load()
    dtype = options.dtype if earlier is None else earlier.dtype
    with ExitStack() as exits:
        with selection_bar(console, transient=True) as bar, interruptible():
            bar.wait(describe_opening(chosen.reference))
            if options.actors == 1 and options.ray_address is None:
                opening = chosen.opened(
                    dtype=dtype, device=options.device, remembers=remembers, remembers_answers=remembers
                )
                model = exits.enter_context(opening)
            else:
                from lens_engine.model.cluster.scorer import RayScorer

                actors, address = options.actors, options.ray_address
                scorer = RayScorer.start(
                    chosen.reference, actors=actors, address=address, dtype=dtype, device=options.device
                )
                exits.callback(scorer.close)
                model = LanguageModel(remember_pairs(scorer) if remembers else scorer)
        yield model


def carry_out(
    run: SelectionRun, chosen: ChosenModel, model: SelectionModelOptions, files: SelectionFiles, *, is_verbose: bool
) -> None:
    """Say what is surprising, open the model, and select."""
    console, out = Console(stderr=True), Console(highlight=False)
    foreign = note_language(run.problem.examples, chosen.reference)
    for note in (*run.notes, *foreign):
        show_note(note, console)
    if files.output is None and files.classifier is None:
        show_note("the result is not kept; add --output result.json, or --classifier classifier.json", console)
    with opened_model(chosen, model, console, checkpoint=files.checkpoint, remembers=model.pair_cache) as opened:
        result = run.execute(opened, files.checkpoint, console, remembers=model.pair_cache)
    written = write_files(files, result, run, console)
    show = show_result if is_verbose else show_summary
    show(result, out, shown=(*run.warnings, *foreign))
    if is_verbose:
        show_suspicious_labels(result, run.problem.examples, out)
    show_files(result, written, out, [] if chosen.endpoint is None else chosen.list_arguments(with_limit=False))
    if result.stop_reason is StopReason.CANCELLED:
        raise typer.Exit(EXIT_INTERRUPTED)


def write_files(files: SelectionFiles, result: SelectionResult, run: SelectionRun, console: Console) -> SelectionFiles:
    """Write the files that were asked for. Returns those that are there: a stopped run may have no classifier."""
    origin = result.provenance.model_copy(update={"dataset": run.name or None})
    result = result.model_copy(update={"provenance": origin})
    if files.output is not None:
        replace_file(files.output, (result.model_dump_json(indent=2) + "\n").encode())
    if files.suspicious is not None:
        content = write_suspicious_labels(result.suspicious_labels, run.texts.dataset)
        replace_file(files.suspicious, content.encode("utf-8-sig"))
    if files.unlabelled is not None:
        replace_file(files.unlabelled, write_unlabelled(run.unlabelled))
    if files.report is not None:
        write_report(files.report, result, run.name, time.time(), run.texts)
    if files.classifier is None:
        return files
    if result.classifier is None:
        show_note(f"the run ended before it made a classifier; {files.classifier} was not written", console)
        return replace(files, classifier=None)
    result.classifier.save(files.classifier)
    return files


def show_files(result: SelectionResult, files: SelectionFiles, console: Console, asked: Sequence[str] = ()) -> None:
    """Say which files were written, and the command that runs what the result recommends.

    `asked`: the arguments that name the server of the model; none for a model on this machine.
    """
    output, classifier, kept = files.output, files.classifier, result.classifier
    written = [] if output is None else [f"{output} (with {show_count(_count_texts(result), 'text')} of yours)"]
    more = list[str]()
    if classifier is not None and kept is not None:
        shown = sum(len(one.rows) for one in kept.prompts)
        written.append(f"{classifier} (with {show_count(shown, 'text')} of yours)")
        more += [f"{classifier} holds words of your texts; {_WITHOUT_WORDS}."] if kept.holds_words else []
    written += [] if files.report is None else [f"{files.report} (a report, with texts of your rows)"]
    written += [f"{one} (texts of yours)" for one in (files.suspicious, files.unlabelled) if one is not None]
    if words := _find_next_command(result, files):
        if words[1] == "classify" and kept is not None and kept.model is not None:
            words += asked
        more.append(f"Next: {shlex.join(words)}")
    for line in ([f"Written: {', '.join(written)}"] if written else []) + more:
        console.print(Text(line), soft_wrap=True)


def _count_texts(result: SelectionResult) -> int:
    """Number of texts of the user in a result: of the pool and of the examples."""
    shown = {row for answer in result.support_examples for one, _ in list_shown(answer) for row in one.rows}
    return len(shown | ({row.row for row in result.pool.rows} if result.pool else set()))


def _find_next_command(result: SelectionResult, files: SelectionFiles) -> list[str]:
    """The command that uses the classifier, or the one that keeps what is recommended; none where a file has it."""
    again = ["lens", *sys.argv[1:]]
    if result.stop_reason is StopReason.CANCELLED:
        return again
    if not result.beats_largest_class:
        return []
    if result.classifier is None or result.first == "prompt":
        return [] if files.output is not None else [*again, "--output", "result.json"]
    if files.classifier is None:
        return [*again, "--classifier", "classifier.json"]
    return ["lens", "classify", "new.csv", "--classifier", str(files.classifier), "--output", "predictions.csv"]


def write_unlabelled(rows: Sequence[Example]) -> bytes:
    """Rows with a text and no label as CSV, which lens classify reads: the number of each from 1, and its text."""
    file = io.StringIO()
    csv.writer(file).writerows([("row", "text"), *((one.row + 1, one.text) for one in rows)])
    return file.getvalue().encode("utf-8-sig")
