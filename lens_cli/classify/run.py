"""A classification on this machine: a file of texts in, batch after batch predicted, a file of predictions out."""

import fcntl
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from lens_cli.asked_model import describe_opening
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, RefusedInput, check_output, show_note
from lens_cli.subject_file import SubjectFile
from lens_cli.views.progress import RowBar, row_bar
from lens_engine.classifier.classifier import Classifier
from lens_engine.disk import replace_file
from lens_engine.evaluation.batches import BATCH_ROWS, Prediction, predict_batches
from lens_engine.evaluation.table import PredictedTable, TableFormat, is_answered, write_table
from lens_engine.files import Dialect, Named, ParsingLimits, ReadTexts, TextRow, read_texts
from lens_engine.files.table import ColumnNames
from lens_engine.files.text_file import ANY_DIALECT
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.wording import show_count
from lens_engine.types import Record


class Origin(Record):
    """What the predictions were made of. It is the first line of the file."""

    format: Literal["lens-predictions-1"] = "lens-predictions-1"
    classifier_sha256: str
    input_sha256: str
    text_column: str | tuple[str, ...]
    delimiter: str | None
    encoding: str
    dtype: str


_ORIGIN_NAMES = {"classifier_sha256": "classifier", "input_sha256": "input file", "text_column": "text column"}


class PartialFile:
    """Predictions as JSON lines: the origin, then one for each row of the input, in order."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.predictions: list[Prediction] = []
        self._file = file

    def keep(self, predictions: Sequence[Prediction]) -> None:
        """Write the predictions of the next rows."""
        self._write_lines(predictions)
        self.predictions += predictions

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def load(self, origin: Origin, num_rows: int, *, restart: bool) -> None:
        """Keep the predictions of an earlier run, or begin the file."""
        self._file.seek(0)
        lines = [] if restart else self._file.read().splitlines(keepends=True)
        if lines and lines[0].endswith(b"\n"):
            self._check_origin(lines[0], origin)
            self._keep_whole_batches(lines, num_rows)
        else:
            self._file.truncate(0)
            self._write_lines([origin])

    def _check_origin(self, line: bytes, origin: Origin) -> None:
        try:
            found = dict(Origin.model_validate_json(line))
            differences = [_ORIGIN_NAMES.get(name, name) for name, ours in origin if found[name] != ours]
        except ValidationError:
            differences = ["format"]
        if differences:
            raise RefusedInput(
                f"{self.path} holds predictions of another run; it differs in: {', '.join(differences)}",
                "where: --restart discards these predictions and starts again",
            )

    def _keep_whole_batches(self, lines: list[bytes], num_rows: int) -> None:
        """Keep whole batches, so that the batches are those of an undisturbed run, and cut off what follows."""
        predictions = list(_read_predictions(lines[1:]))
        num_kept = len(predictions)
        if num_kept != num_rows:
            num_kept -= num_kept % BATCH_ROWS
        self.predictions = predictions[:num_kept]
        self._file.truncate(sum(map(len, lines[: num_kept + 1])))

    def _write_lines(self, records: Sequence[Record]) -> None:
        self._file.write("".join(f"{record.model_dump_json()}\n" for record in records).encode())
        self._file.flush()


@contextmanager
def partial_file(path: Path, origin: Origin, num_rows: int, *, restart: bool = False) -> Iterator[PartialFile]:
    """Open the file, and lock it until the block ends. It is kept unless it holds no prediction then.

    Args:
        num_rows: number of rows of the input.
        restart: whether to discard the predictions that are there.
    """
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedInput(f"another process is writing {path}; wait for its end") from None
        partial = PartialFile(path, file)
        partial.load(origin, num_rows, restart=restart)
        try:
            yield partial
        finally:
            if not partial.predictions:
                partial.remove()


def _read_predictions(lines: Sequence[bytes]) -> Iterator[Prediction]:
    """The predictions before the first unreadable line. A killed process may leave its last line unfinished."""
    for line in lines:
        if not line.endswith(b"\n"):
            return
        try:
            yield Prediction.model_validate_json(line)
        except ValidationError:
            return


_MAX_SHOWN = 5
"""Largest number of bad rows that are named."""

_FORMATS: dict[str, TableFormat] = {".csv": "csv", ".jsonl": "jsonl"}


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a classification."""

    texts: Path
    classifier: Path
    output: Path

    @property
    def partial(self) -> Path:
        return self.output.with_name(f"{self.output.name}.partial.jsonl")

    def check(self, *, overwrite: bool) -> None:
        """Find out before the run, not after it."""
        _find_format(self.output)
        check_output(self.output, overwrite=overwrite)
        for source in (self.texts, self.classifier):
            if self.output.exists() and source.exists() and self.output.samefile(source):
                raise RefusedInput(f"the output is the file {source} itself; name another file", "where: --output")


@dataclass(frozen=True, slots=True)
class ClassificationRun:
    """A classifier and the rows that it is asked for, both checked."""

    paths: Paths
    classifier: Classifier
    texts: ReadTexts
    origin: Origin
    notes: tuple[str, ...] = ()  #: what was taken from the input but may surprise
    answer_above: float | None = None  #: least probability of a label that is given; None for every label

    @classmethod
    def prepare(
        cls,
        paths: Paths,
        asked: SubjectFile | None = None,
        text_column: ColumnNames | None = None,
        dialect: Dialect = ANY_DIALECT,
        dtype: str | None = None,
        answer_above: float | None = None,
    ) -> "ClassificationRun":
        """Read the files, before any model is loaded.

        Args:
            asked: a file, and which prompt or classifier of it predicts; None for the classifier in `paths.classifier`.
            text_column: name of the column of texts; None for that of the classifier's file, or to find it.
            dialect: how the file of texts is written; what it leaves open is found.
            dtype: precision of the model; None for that of the classifier.
            answer_above: least probability of a label that is given; None for every label.
        """
        found = asked or SubjectFile(paths.classifier, usual="classifier", where="--classifier")
        classifier = found.read().classifier
        known = classifier.input
        usual = ANY_DIALECT if known is None else Dialect(known.encoding, known.delimiter)
        columns = Named(text_column, usual_text=None if known is None else known.text_column)
        limits = ParsingLimits.of_own_files()
        texts = read_texts(paths.texts, limits, columns=columns, field="input", dialect=dialect, usual=usual)
        origin = Origin(
            classifier_sha256=hashlib.sha256(classifier.model_dump_json().encode()).hexdigest(),
            input_sha256=_digest(paths.texts),
            text_column=texts.text_column,
            delimiter=texts.dialect.delimiter,
            encoding=texts.dialect.encoding,
            dtype=dtype or ("float32" if classifier.model is None else classifier.model.dtype),
        )
        return cls(paths, classifier, texts, origin, texts.warnings, answer_above)

    @property
    def rows(self) -> tuple[TextRow, ...]:
        return self.texts.rows

    def execute(
        self,
        open_scorer: Callable[[], LabelScorer],
        console: Console,
        *,
        model: str | None = None,
        restart: bool = False,
    ) -> None:
        """Load the model, predict every row with a live bar, and write the output.

        Args:
            open_scorer: loads the model, if the classifier asks one.
            model: its name for the bar; None for that of the classifier.
            restart: whether to discard the predictions of an earlier run that was stopped.
        """
        num_rows = len(self.rows)
        with partial_file(self.paths.partial, self.origin, num_rows, restart=restart) as partial:
            for note in self.notes:
                show_note(note, console)
            if num_done := len(partial.predictions):
                show_note(f"{num_done:,} of {num_rows:,} rows were classified by an earlier run", console)
            with row_bar(console) as bar:
                scorer = self._load(open_scorer, model, bar)
                try:
                    for batch in predict_batches(self.classifier, self.rows, scorer, bar, num_done):
                        partial.keep(batch)
                except Stopped:
                    raise self._interruption(len(partial.predictions)) from None
            self._write(partial.predictions)
            partial.remove()
        tell_outcome(partial.predictions, self.paths.output, self.answer_above, console)

    def _write(self, predictions: list[Prediction]) -> None:
        table = PredictedTable(self.classifier.labels, self.texts, predictions, answer_above=self.answer_above)
        replace_file(self.paths.output, b"".join(write_table(table, _find_format(self.paths.output))))

    def _load(self, open_scorer: Callable[[], LabelScorer], model: str | None, bar: RowBar) -> LabelScorer | None:
        if self.classifier.model is None:
            return None
        bar.wait(describe_opening(model or self.classifier.model.model))
        scorer = open_scorer()
        self.classifier.check_model(scorer)
        return scorer

    def _interruption(self, num_done: int) -> Refusal:
        message = f"stopped after {num_done:,} of {len(self.rows):,} rows"
        resume = f"to resume, repeat the command; {self.paths.partial} holds the rows that are done"
        return Refusal(message, details=(resume,) if num_done else (), exit_code=EXIT_INTERRUPTED)


def tell_outcome(predictions: Sequence[Prediction], output: Path, answer_above: float | None, console: Console) -> None:
    """Say what is in the output."""
    num_rows = len(predictions)
    console.print(Text(f"{num_rows:,} rows in {output}"), soft_wrap=True)
    if answer_above is not None:
        answered = sum(is_answered(one.probability, answer_above) for one in predictions)
        left = f"{num_rows - answered:,} below {answer_above:g} have no label and are left to a person"
        console.print(Text(f"{answered:,} rows are answered; {left}"), soft_wrap=True)
    if num_cut := sum(one.is_cut for one in predictions):
        show_note(f"{show_count(num_cut, 'text', 'was')} too long and cut, as in the report", console)
    bad = [f"row {row}: {one.error}" for row, one in enumerate(predictions, 1) if one.error is not None]
    if bad:
        more = [f"and {len(bad) - _MAX_SHOWN:,} more"] if len(bad) > _MAX_SHOWN else []
        raise RefusedInput(
            f"{len(bad):,} of {num_rows:,} rows could not be classified; "
            "in the output, their label is empty and the column error says why",
            *bad[:_MAX_SHOWN],
            *more,
        )


def _digest(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256("".join(map(_digest, sorted(path.iterdir()))).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_format(path: Path) -> TableFormat:
    """The format that the suffix of the name tells; another is refused."""
    found = _FORMATS.get(path.suffix.lower())
    if found is None:
        *others, last = _FORMATS
        message = f"cannot tell the format of {path}; its name must end in {', '.join(others)} or {last}"
        raise RefusedInput(message, "where: --output")
    return found
