"""The partial file: the predictions so far, beside the output, from which a repeated command resumes."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import ValidationError

from lens_cli.refusals import RefusedInput
from lens_engine.evaluation.batches import BATCH_ROWS, Prediction
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
    """The engine's `AnswerStore` as JSON lines: the origin, then one for each row of the input, in order."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.predictions: list[Prediction] = []
        self._file = file

    def take_up(self, _: object) -> int:
        """Number of rows that are classified. The origin names the model already."""
        return len(self.predictions)

    def read(self, start: int, limit: int) -> Sequence[Prediction]:
        return self.predictions[start : start + limit]

    def keep(self, _: int, predictions: Sequence[Prediction]) -> None:
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

    Raises:
        Refusal: the file has another origin, or another process writes it.
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
