"""What production reads of a selection or of a name, and texts and files that it classifies in batches.

A batch is asked again while the service loads a model or is away.
"""

import asyncio
from builtins import list as List  # noqa: N812 - subclasses have a method called `list`
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

from lens_client.async_connection import AsyncConnection
from lens_client.calls import BATCH_TEXTS, Kept, digest_file, leave_none_out, make_form, path_of
from lens_client.errors import Problem, Unreachable
from lens_client.models import Classified, Evaluation, LabelledFile, PromptKind, Rendered, SupportExamples, Use

PATIENCE_SECONDS = 600.0  #: how long a batch is asked again without an answer
_PAUSE_SECONDS = 2.0
_FORMATS = ("csv", "jsonl")

Heard = Callable[[int, int], None]
"""Called after each batch: rows that have an answer, and rows of the file."""


class AsyncClassifying:
    """Classifies by one selection, or by one name.

    Args:
        path: of the selection or the name.
        wish: `prompts`, `use`, `fixed` and `answer_above`; see docs/api.md.
    """

    def __init__(self, connection: AsyncConnection, path: str, wish: dict[str, Any]) -> None:
        self._connection = connection
        self._path = path
        self._wish = leave_none_out(wish)

    async def classify(self, inputs: Sequence[str], labels: Sequence[str | None] | None = None) -> Classified:
        """The answers to any number of texts; with labels, figures of each batch of 256 alone."""
        batches = list[Classified]()
        while (start := len(batches) * BATCH_TEXTS) < len(inputs):
            part = slice(start, start + BATCH_TEXTS)
            found = await self._ask(inputs[part], labels and labels[part])
            before = batches[0] if batches else found
            is_same = (found.selection_id, found.version) == (before.selection_id, before.version)
            batches = [*batches, found] if is_same else []  # of another version all texts are asked again
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

    async def label_file(
        self, file: Path, output: Path, parts: dict[str, Any], format: str | None, on_batch: Heard
    ) -> LabelledFile:
        """Write the file with its answers. What was answered is kept beside the output until it is written."""
        read = await self._read(file, parts)
        kept = Kept.open(output, {"file": digest_file(file), "path": self._path, **self._wish, **parts})
        await self._answer(kept, read["texts"], read["faults"], on_batch)
        named = output.suffix.lower().removeprefix(".")
        spec = {**self._wish, **leave_none_out({"format": format or (named if named in _FORMATS else None)})}
        form = make_form({"texts": file, "answers": kept.as_json()}, spec, parts)
        written = await self._connection.ask("POST", f"{self._path}/table", **form)
        kept.finish(written.content)
        return LabelledFile(kept.answers, read["notes"])

    async def evaluate_file(
        self, file: Path, parts: dict[str, Any], keep: bool, title: str | None, on_batch: Heard
    ) -> Evaluation:
        """The figures of the answers to a labelled file."""
        read = await self._read(file, parts, labelled=True)
        kept = Kept()
        await self._answer(kept, read["texts"], read["faults"], on_batch)
        spec = {**self._wish, "keep": keep, **leave_none_out({"title": title})}
        form = make_form({"texts": file, "answers": kept.as_json()}, spec, parts)
        return await self._connection.ask_as(
            Evaluation, "POST", f"{self._path}/evaluations", is_repeatable=not keep, **form
        )

    async def _read(self, file: Path, parts: dict[str, Any], *, labelled: bool = False) -> dict[str, Any]:
        form = make_form({"texts": file}, {**self._wish, "labelled": labelled}, parts)
        answer = await self._connection.ask("POST", f"{self._path}/texts", **form)
        return dict(answer.json())

    async def _answer(self, kept: Kept, texts: list[str], faults: list[str | None], on_batch: Heard) -> None:
        """Ask for the rows that have no answer yet. A row that cannot be asked has its fault for an answer.

        Where the name gets another version meanwhile, all rows are asked again: a file has the answers of one version.
        """
        while (start := len(kept.answers)) < len(texts):
            rows = range(start, min(start + BATCH_TEXTS, len(texts)))
            good = [row for row in rows if faults[row] is None]
            found = await self._ask([texts[row] for row in good]) if good else None
            given = dict(zip(good, found.answers if found else (), strict=True))
            answers = [{"error": faults[row]} if row not in given else given[row].as_given() for row in rows]
            kept.add(answers, None if found is None else [found.selection_id, found.version])
            on_batch(len(kept.answers), len(texts))

    async def _ask(self, inputs: Sequence[str], labels: Sequence[str | None] | None = None) -> Classified:
        """One batch. It is asked again while nobody answers it."""
        body = {**self._wish, "inputs": list(inputs), **leave_none_out({"labels": labels and list(labels)})}
        deadline = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self._connection.ask_as(Classified, "POST", f"{self._path}/classify", json=body)
            except (Problem, Unreachable) as error:
                is_away = isinstance(error, Unreachable) or error.status in (429, 502, 503, 504)
                if not is_away or monotonic() > deadline:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)


class AsyncFindings:
    """What production reads of a selection, by its id, or of a name."""

    kind: ClassVar[str]

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def _path(self, name: str, *parts: str) -> str:
        return path_of(self.kind, name, *parts)

    async def support_examples(self, name: str, *, use: Use | None = None, input: str | None = None) -> SupportExamples:
        """The support examples, in order; with the demonstrations of `input`, a text, if it is given."""
        path = self._path(name, "support-examples")
        return await self._connection.read_as(SupportExamples, path, use=use, input=input)

    async def classifier(self, name: str) -> dict[str, Any]:
        """The classifier, as a file that `lens classify` reads."""
        return await self._connection.read_json(self._path(name, "classifier"))

    async def render(self, name: str, inputs: str | List[str], *, use: Use | None = None) -> Rendered:
        """The prompts for new inputs; `str` of the answer is the first."""
        given = {"input": inputs} if isinstance(inputs, str) else {"inputs": list(inputs)}
        body = {**given, **leave_none_out({"use": use})}
        return await self._connection.ask_as(Rendered, "POST", self._path(name, "render"), json=body)

    async def export(self, name: str, format: str = "json", *, use: Use | None = None) -> bytes:
        """The support examples as a file that another tool loads."""
        return await self._connection.read_bytes(self._path(name, "export"), format=format, use=use)

    async def classify(
        self,
        name: str,
        inputs: str | List[str] | Path,
        output: str | Path | None = None,
        *,
        labels: List[str | None] | None = None,
        prompts: PromptKind | None = None,
        use: Use | None = None,
        fixed: bool = False,
        answer_above: float | None = None,
        format: str | None = None,
        on_batch: Heard = lambda _done, _total: None,
        **parts: Any,
    ) -> Classified | LabelledFile:
        """Classify texts, or label a file.

        Args:
            inputs: a text or several; with `output`, the path of a file. Each 256 texts are one request.
            output: path of the file with its answers. What an interrupted call had is kept beside it, and taken up.
            labels: the right label of each text, for figures in the answer (of at most 256 texts).
            prompts, use, fixed, answer_above: what is asked; see docs/api.md.
            format: csv or jsonl; by default as `output` is called, else the form of the file.
            on_batch: gets the number of rows that are answered, and of all.
            parts: `text_column`, `delimiter` and `encoding` of a file.

        Returns:
            The answers, or what was written of a file.
        """
        wish = {"prompts": prompts, "use": use, "fixed": fixed or None, "answer_above": answer_above}
        asking = AsyncClassifying(self._connection, self._path(name), wish)
        if output is not None:
            if not isinstance(inputs, str | Path):
                raise TypeError("with an output, inputs is the path of a file; classify a list of texts without it")
            return await asking.label_file(Path(inputs), Path(output), parts, format, on_batch)
        texts = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(texts, list):
            raise TypeError("inputs is a text or a list of texts; give an output for the path of a file")
        if labels is not None and len(labels) != len(texts):
            raise ValueError(f"labels has {len(labels)} items for {len(texts)} inputs; give one for each")
        return await asking.classify(texts, labels)
