"""What both clients decide without a connection: paths, bodies, waits."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

File = str | Path | bytes

BATCH_TEXTS = 256  #: most inputs of one request


def path_of(*parts: str) -> str:
    """The path of these parts, quoted, so that no name is read as another path.

    Raises:
        ValueError: a part is empty or a step to another folder.
    """
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"{part!r} is no name or id")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def leave_none_out(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def make_submission(files: Mapping[str, File | None], parts: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `httpx.Client.request` for a form with files, or for JSON if no file is given.

    Raises:
        TypeError: a test file is given without a dataset file.
    """
    if files.get("test") is not None and files["dataset"] is None:
        raise TypeError("a test file needs a dataset file; give test_examples or test_dataset_id")
    given = leave_none_out(parts)
    sent: dict[str, Any] = {name: (name, read_file(file)) for name, file in files.items() if file is not None}
    if not sent:
        return {"json": given}
    if "spec" in given:
        sent["spec"] = (None, json.dumps(given.pop("spec")).encode(), "application/json")
    return {"files": sent, "data": given}


def make_form(files: Mapping[str, File], spec: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `httpx.Client.request` for a form with files, a spec and how the files are read."""
    sent: dict[str, Any] = {
        name: (name if isinstance(file, bytes) else Path(file).name, read_file(file)) for name, file in files.items()
    }
    sent["spec"] = (None, json.dumps(dict(spec)).encode(), "application/json")
    return {"files": sent, "data": leave_none_out(parts)}


class Kept:
    """The answers to the rows of a file so far, in a file beside the output, so that an interrupted run goes on."""

    def __init__(self, path: Path | None = None, output: Path | None = None, asked: str = "") -> None:
        self.answers = list[dict[str, Any]]()
        self._path, self._output, self._asked = path, output, asked
        self._source: list[Any] | None = None

    @classmethod
    def open(cls, output: Path, asked: Mapping[str, Any]) -> "Kept":
        """Take up the whole batches that an earlier run kept. `asked`: the file, by its digest, and all that is asked
        of it; answers to anything else are forgotten.
        """
        path = name_partial(output)
        kept = cls(path, output, json.dumps(asked, sort_keys=True))
        # A run that was killed may have cut the last line.
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        head = json.loads(lines[0]) if lines and lines[0].startswith(b"[") else [None, None]
        if head[0] == kept._asked:
            kept._source = head[1]
            num_whole = (len(lines) - 1) // BATCH_TEXTS * BATCH_TEXTS
            kept.answers = [json.loads(line) for line in lines[1 : num_whole + 1]]
        kept._write_all()
        return kept

    def add(self, answers: list[dict[str, Any]], source: list[Any] | None) -> None:
        """Keep the answers to the next rows. If another version gave them than those before, forget all answers.

        Args:
            source: selection and version that gave them; None if no row could be asked.
        """
        if source is None or source == self._source:
            self.answers += answers
            self._write(answers, "a")
            return
        self.answers = self.answers + answers if self._source is None else []
        self._source = source
        self._write_all()

    def _write_all(self) -> None:
        self._write([[self._asked, self._source], *self.answers], "w")

    def _write(self, lines: Sequence[Any], mode: str) -> None:
        if self._path is not None:
            with self._path.open(mode, encoding="ascii") as file:
                file.writelines(f"{json.dumps(one)}\n" for one in lines)

    def as_json(self) -> bytes:
        return json.dumps(self.answers, ensure_ascii=False).encode()

    def finish(self, content: bytes) -> None:
        """Write the output whole, and forget what was kept."""
        assert self._path is not None
        assert self._output is not None
        made = self._output.with_name(f"{self._output.name}.part")
        made.write_bytes(content)
        made.replace(self._output)
        self._path.unlink(missing_ok=True)


def name_partial(output: Path) -> Path:
    """The file beside an output that keeps what is answered so far."""
    return output.with_name(f"{output.name}.partial.jsonl")


def digest_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_file(file: File) -> bytes:
    return file if isinstance(file, bytes) else Path(file).read_bytes()


def read_retry_after(answer: httpx.Response) -> float | None:
    """The seconds after which the service wants to be asked again; None if it does not say."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0.0 <= seconds < math.inf else None
