# Made from lens_client/async_classifying.py by `python .ci/blocking_client.py`: change that file, and run the command.
"""Classifies texts and files in batches. A batch is asked again while the service loads a model or is away."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from lens_client.calls import BATCH_TEXTS, Kept, leave_none_out, make_form
from lens_client.connection import Connection
from lens_client.errors import Problem, Unreachable
from lens_client.models import Classified, Evaluation, LabelledFile

PATIENCE_SECONDS = 600.0
"""How long a batch is asked again without an answer."""
_PAUSE_SECONDS = 2.0
_FORMATS = ("csv", "jsonl", "parquet")

Heard = Callable[[int, int], None]
"""Called after each batch: rows that have an answer, and rows of the file."""


class Classifying:
    """Classifies by one selection, or by one name.

    Args:
        path: of the selection or the name.
        wish: `prompts`, `use`, `fixed` and `answer_above`; see docs/api.md.
    """

    def __init__(self, connection: Connection, path: str, wish: dict[str, Any]) -> None:
        self._connection = connection
        self._path = path
        self._wish = leave_none_out(wish)

    def answer(
        self,
        inputs: str | list[str] | Path,
        output: str | Path | None,
        labels: list[str | None] | None,
        parts: dict[str, Any],
        format: str | None,
        on_batch: Heard,
    ) -> Classified | LabelledFile:
        """The answers to a text or several; with `output`, a file with those to a file."""
        if output is not None:
            assert not isinstance(inputs, list)
            return self.label_file(Path(inputs), Path(output), parts, format, on_batch)
        texts = [inputs] if isinstance(inputs, str) else inputs
        assert isinstance(texts, list)
        return self.classify(texts, labels)

    def classify(self, inputs: Sequence[str], labels: Sequence[str | None] | None = None) -> Classified:
        """The answers to any number of texts; with labels, figures of each batch of 256 alone."""
        batches = [
            self._ask(inputs[start : start + BATCH_TEXTS], labels and labels[start : start + BATCH_TEXTS])
            for start in range(0, len(inputs), BATCH_TEXTS)
        ]
        if not batches:
            raise ValueError("there are no inputs; give one text or several")
        if len(batches) == 1:
            return batches[0]
        answers = tuple(
            one.model_copy(update={"input": start * BATCH_TEXTS + one.input})
            for start, batch in enumerate(batches)
            for one in batch.answers
        )
        return batches[0].model_copy(update={"answers": answers, "figures": None})

    def label_file(
        self, file: Path, output: Path, parts: dict[str, Any], format: str | None, on_batch: Heard
    ) -> LabelledFile:
        """Write the file with its answers. What was answered is kept beside the output until it is written."""
        read = self._read(file, parts)
        kept = Kept.open(output, file, {"path": self._path, **self._wish, **parts})
        self._answer(kept, read["texts"], read["faults"], on_batch)
        named = output.suffix.lower().removeprefix(".")
        spec = {**self._wish, **leave_none_out({"format": format or (named if named in _FORMATS else None)})}
        form = make_form({"texts": file, "answers": kept.as_json()}, spec, parts)
        written = self._connection.ask("POST", f"{self._path}/table", **form)
        kept.finish(written.content)
        return LabelledFile(kept.answers, read["notes"])

    def evaluate_file(
        self, file: Path, parts: dict[str, Any], keep: bool, title: str | None, on_batch: Heard
    ) -> Evaluation:
        """The figures of the answers to a labelled file."""
        read = self._read(file, parts, labelled=True)
        kept = Kept()
        self._answer(kept, read["texts"], read["faults"], on_batch)
        spec = {**self._wish, "keep": keep, **leave_none_out({"title": title})}
        form = make_form({"texts": file, "answers": kept.as_json()}, spec, parts)
        return self._connection.ask_as(Evaluation, "POST", f"{self._path}/evaluations", is_repeatable=not keep, **form)

    def _read(self, file: Path, parts: dict[str, Any], *, labelled: bool = False) -> dict[str, Any]:
        form = make_form({"texts": file}, {**self._wish, "labelled": labelled}, parts)
        answer = self._connection.ask("POST", f"{self._path}/texts", **form)
        return dict(answer.json())

    def _answer(self, kept: Kept, texts: list[str], faults: list[str | None], on_batch: Heard) -> None:
        """Ask for the rows that have no answer yet. A row that cannot be asked has its fault for an answer.

        Where the name gets another version meanwhile, all rows are asked again: a file has the answers of one version.
        """
        while (start := len(kept.answers)) < len(texts):
            rows = range(start, min(start + BATCH_TEXTS, len(texts)))
            good = [row for row in rows if faults[row] is None]
            found = self._ask([texts[row] for row in good]) if good else None
            given = dict(zip(good, found.answers if found else (), strict=True))
            answers = [{"error": faults[row]} if row not in given else given[row].as_given() for row in rows]
            kept.add(answers, None if found is None else [found.selection_id, found.version])
            on_batch(len(kept.answers), len(texts))

    def _ask(self, inputs: Sequence[str], labels: Sequence[str | None] | None = None) -> Classified:
        """One batch. It is asked again while nobody answers it."""
        body = {**self._wish, "inputs": list(inputs), **leave_none_out({"labels": labels and list(labels)})}
        deadline = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._connection.ask_as(Classified, "POST", f"{self._path}/classify", json=body)
            except (Problem, Unreachable) as error:
                is_away = isinstance(error, Unreachable) or error.status in (429, 502, 503, 504)
                if not is_away or monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)
