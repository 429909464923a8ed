"""What both clients decide without a connection: paths, bodies, waits."""

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
