"""What both clients decide without a connection: paths, bodies, waits."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

File = str | Path | bytes


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
        name: (file.name if isinstance(file, Path) else name, read_file(file)) for name, file in files.items()
    }
    sent["spec"] = (None, json.dumps(dict(spec)).encode(), "application/json")
    return {"files": sent, "data": leave_none_out(parts)}


class Kept:
    """The answers to the rows of a file so far, in a file beside the output, so that an interrupted run goes on."""

    def __init__(self, path: Path | None = None, output: Path | None = None) -> None:
        self.answers = list[dict[str, Any]]()
        self._path, self._output = path, output

    @classmethod
    def open(cls, output: Path, source: Path, asked: Mapping[str, Any]) -> "Kept":
        """Take up what an earlier run kept for the same file, asked in the same way."""
        kept = cls(output.with_name(f"{output.name}.partial.jsonl"), output)
        origin = hashlib.sha256(source.read_bytes()).hexdigest()
        head = json.dumps({"file": origin, "asked": dict(asked)}, sort_keys=True)
        lines = kept._path.read_text("utf-8").splitlines() if kept._path and kept._path.exists() else []
        if lines and lines[0] == head:
            kept.answers = [json.loads(line) for line in lines[1:] if line.endswith("}")]
        elif kept._path is not None:
            kept._path.write_text(f"{head}\n", "utf-8")
        return kept

    def add(self, answers: list[dict[str, Any]]) -> None:
        """Keep the answers to the next rows."""
        self.answers += answers
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in answers)

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


def make_inputs(inputs: str | list[str] | tuple[str, ...]) -> dict[str, Any]:
    return {"input": inputs} if isinstance(inputs, str) else {"inputs": list(inputs)}


def make_examples(examples: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"text": text, "label": label} for text, label in examples]


def read_file(file: File) -> bytes:
    return file if isinstance(file, bytes) else Path(file).read_bytes()


def read_retry_after(answer: httpx.Response) -> float | None:
    """The seconds after which the service wants to be asked again; None if it does not say."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0.0 <= seconds < math.inf else None
