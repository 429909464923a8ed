"""A classification on this machine: a file of texts in, batch after batch predicted, a file of predictions out."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.asked_model import describe_opening
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, RefusedInput, check_output, show_note
from lens_cli.subject_file import SubjectFile
from lens_cli.views.progress import RowBar, row_bar
from lens_client.calls import Kept, digest_file, name_partial
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.batches import Prediction, predict_batches
from lens_engine.evaluation.table import PredictedTable, TableFormat, is_answered, write_table
from lens_engine.files import Dialect, Named, ParsingLimits, ReadTexts, read_texts
from lens_engine.files.table import ColumnNames
from lens_engine.files.text_file import ANY_DIALECT
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.wording import show_count

_MAX_SHOWN = 5  #: largest number of bad rows that are named
_FORMATS: dict[str, TableFormat] = {".csv": "csv", ".jsonl": "jsonl"}


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a classification."""

    texts: Path
    classifier: Path
    output: Path

    @property
    def partial(self) -> Path:
        return name_partial(self.output)

    def check(self, *, overwrite: bool) -> None:
        """Find out before the run, not after it."""
        _find_format(self.output)
        check_output(self.output, overwrite=overwrite, sources=(self.texts, self.classifier))


@dataclass(frozen=True, slots=True)
class ClassificationRun:
    """A classifier and the rows that it is asked for, both checked."""

    paths: Paths
    classifier: Classifier
    texts: ReadTexts
    asked: Mapping[str, object]  #: what the predictions are made of: only equal ones are taken up
    dtype: str
    notes: tuple[str, ...] = ()  #: what was taken from the input but may surprise
    answer_above: float | None = None  #: least probability of a label that is given; None for every label

    @classmethod
    def prepare(
        cls,
        paths: Paths,
        asked: SubjectFile,
        text_column: ColumnNames | None = None,
        dialect: Dialect = ANY_DIALECT,
        dtype: str | None = None,
        answer_above: float | None = None,
    ) -> "ClassificationRun":
        """Read the files, before any model is loaded. Column, dialect and precision that are not given are those of the
        classifier, or are found.
        """
        classifier = asked.read().classifier
        known = classifier.input
        usual = ANY_DIALECT if known is None else Dialect(known.encoding, known.delimiter)
        columns = Named(text_column, usual_text=None if known is None else known.text_column)
        limits = ParsingLimits.of_own_files()
        texts = read_texts(paths.texts, limits, columns=columns, field="input", dialect=dialect, usual=usual)
        dtype = dtype or ("float32" if classifier.model is None else classifier.model.dtype)
        made_of = {
            "classifier": hashlib.sha256(classifier.model_dump_json().encode()).hexdigest(),
            "file": _digest(paths.texts),
            "text_column": texts.text_column,
            "delimiter": texts.dialect.delimiter,
            "encoding": texts.dialect.encoding,
            "dtype": dtype,
        }
        return cls(paths, classifier, texts, made_of, dtype, texts.warnings, answer_above)

    def execute(self, open_scorer: Callable[[], LabelScorer], console: Console, *, model: str | None = None) -> None:
        """Load the model, if one is asked (the bar calls it `model`), predict every row, and write the output."""
        num_rows, kept = len(self.texts.rows), Kept.open(self.paths.output, self.asked)
        predictions = [Prediction.model_validate_json(json.dumps(one)) for one in kept.answers]
        for note in self.notes:
            show_note(note, console)
        if num_done := len(predictions):
            show_note(f"{num_done:,} of {num_rows:,} rows were classified by an earlier run", console)
        try:
            with row_bar(console) as bar:
                scorer = self._load(open_scorer, model, bar)
                for batch in predict_batches(self.classifier, self.texts.rows, scorer, bar, num_done):
                    kept.add([one.model_dump(mode="json") for one in batch], None)
                    predictions += batch
        except Stopped:
            resume = f"to resume, repeat the command; {self.paths.partial} holds the rows that are done"
            message, details = f"stopped after {len(predictions):,} of {num_rows:,} rows", (resume,) * bool(predictions)
            raise Refusal(message, details=details, exit_code=EXIT_INTERRUPTED) from None
        finally:
            if not predictions:
                self.paths.partial.unlink(missing_ok=True)
        table = PredictedTable(self.classifier.labels, self.texts, predictions, answer_above=self.answer_above)
        kept.finish(b"".join(write_table(table, _find_format(self.paths.output))))
        tell_outcome(predictions, self.paths.output, self.answer_above, console)

    def _load(self, open_scorer: Callable[[], LabelScorer], model: str | None, bar: RowBar) -> LabelScorer | None:
        if self.classifier.model is None:
            return None
        bar.wait(describe_opening(model or self.classifier.model.model))
        scorer = open_scorer()
        self.classifier.check_model(scorer)
        return scorer


def tell_outcome(predictions: Sequence[Prediction], output: Path, answer_above: float | None, console: Console) -> None:
    """Say what is in the output."""
    num_rows = len(predictions)
    console.print(Text(f"{show_count(num_rows, 'row')} in {output}"), soft_wrap=True)
    if answer_above is not None:
        answered = sum(is_answered(one.probability, answer_above) for one in predictions)
        left = f"{num_rows - answered:,} below {answer_above:g} have no label and are left to a person"
        console.print(Text(f"{show_count(answered, 'row', 'is')} answered; {left}"), soft_wrap=True)
    if num_cut := sum(one.is_cut for one in predictions):
        show_note(f"{show_count(num_cut, 'text', 'was')} too long and cut, as in the report", console)
    bad = [f"row {row}: {one.error}" for row, one in enumerate(predictions, 1) if one.error is not None]
    if bad:
        more = [f"and {len(bad) - _MAX_SHOWN:,} more"] if len(bad) > _MAX_SHOWN else []
        told = f"{len(bad):,} of {num_rows:,} rows could not be classified"
        why = "in the output, their label is empty and the column error says why"
        raise RefusedInput(f"{told}; {why}", *bad[:_MAX_SHOWN], *more)


def _digest(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256("".join(map(_digest, sorted(path.iterdir()))).encode()).hexdigest()
    return digest_file(path)


def _find_format(path: Path) -> TableFormat:
    """The format that the suffix of the name tells; another is refused."""
    found = _FORMATS.get(path.suffix.lower())
    if found is None:
        *others, last = _FORMATS
        message = f"cannot tell the format of {path}; its name must end in {', '.join(others)} or {last}"
        raise RefusedInput(message, "where: --output")
    return found
