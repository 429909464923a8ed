"""What is asked, and in which order: the part of the client that is the same with and without asyncio."""

import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from lens_client.calls import Call, Flow, Pause, ask, read_retry_after
from lens_client.errors import NotFound, NotSucceeded, TimedOut
from lens_client.models import (
    Answer,
    Dataset,
    Job,
    PromptVersion,
    Rendered,
    SupportExamples,
    SuspiciousLabel,
    Use,
)

T = TypeVar("T")
A = TypeVar("A", bound=Answer)
J = TypeVar("J", bound=Job)
File = str | Path | bytes

_MOST_KEPT = 256
_MOST_BYTES_KEPT = 2**20


@dataclass
class Flows:
    """Every call of the client as a flow. Answers with an ETag are kept, and asked for again by it."""

    kept: OrderedDict[str, httpx.Response] = field(default_factory=OrderedDict)

    def read(self, path: str, **params: Any) -> Flow[httpx.Response]:
        """GET, with the ETag of the answer that is kept; the kept answer if it still holds."""
        given = {name: value for name, value in params.items() if value is not None}
        key = str(httpx.URL(path, params=given))
        known = self.kept.get(key)
        headers = {} if known is None else {"If-None-Match": known.headers["ETag"]}
        answer = yield from ask(Call("GET", path, {"params": given, "headers": headers}))
        if answer.status_code == 304 and known is not None:
            self.kept[key] = known  # another thread may have forgotten it
            self.kept.move_to_end(key)
            return known
        if "ETag" in answer.headers and len(answer.content) <= _MOST_BYTES_KEPT:
            self.kept[key] = answer
            if len(self.kept) > _MOST_KEPT:
                self.kept.popitem(last=False)
        return answer

    def read_as(self, kind: type[A], path: str, **params: Any) -> Flow[A]:
        answer = yield from self.read(path, **params)
        return kind.model_validate_json(answer.content)

    def read_json(self, path: str, **params: Any) -> Flow[dict[str, Any]]:
        answer = yield from self.read(path, **params)
        return dict(answer.json())

    def read_bytes(self, path: str, **params: Any) -> Flow[bytes]:
        answer = yield from self.read(path, **params)
        return answer.content

    def read_pages(self, kind: type[A], path: str, most: int | None = None, **params: Any) -> Flow[list[A]]:
        """The items of all pages, or the first `most`."""
        found: list[A] = []
        cursor = None
        while most is None or len(found) < most:
            page = (yield from self.read(path, cursor=cursor, **params)).json()
            found += [kind.model_validate(item) for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        return found[:most]

    def submit(
        self,
        kind: type[A],
        path: str,
        files: Mapping[str, File | None],
        parts: Mapping[str, Any],
        idempotency_key: str | None = None,
    ) -> Flow[A]:
        """Submit files, or the JSON of `parts`, under a key, so that a repeat makes no second job."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        if files.get("test") is not None and files["dataset"] is None:
            raise TypeError("a test file needs a dataset file; give test_examples or test_dataset_id")
        given = {name: value for name, value in parts.items() if value is not None}
        sent = {name: (name, read_file(file)) for name, file in files.items() if file is not None}
        body: dict[str, Any] = {"json": given}
        if sent:
            if "spec" in given:
                sent["spec"] = (None, json.dumps(given.pop("spec")).encode(), "application/json")  # type: ignore[assignment]
            body = {"files": sent, "data": given}
        answer = yield from ask(Call("POST", path, {**body, "headers": headers}))
        return kind.model_validate_json(answer.content)

    def wait(self, kind: type[J], path: str, on_change: Callable[[J], None] | None, timeout: float | None) -> Flow[J]:
        """Poll as often as the service asks for until the job has ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            answer = yield from self.read(path)
            job = kind.model_validate_json(answer.content)
            if on_change is not None:
                on_change(job)
            if job.status == "succeeded":
                return job
            if job.has_ended:
                raise NotSucceeded(job)
            seconds = read_retry_after(answer, 2.0)
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimedOut(f"{job.id} is {job.status} after {timeout:g} s")
                seconds = min(seconds, left)
            yield Pause(seconds)

    def change(self, kind: type[A], path: str, verb: str) -> Flow[A]:
        answer = yield from ask(Call("POST", f"{path}/{verb}", is_repeatable=verb != "retry"))
        return kind.model_validate_json(answer.content)

    def delete(self, path: str, headers: Mapping[str, str] | None = None) -> Flow[None]:
        yield from ask(Call("DELETE", path, {"headers": dict(headers or {})}, is_repeatable=headers is None))

    def put(self, name: str, body: Mapping[str, Any], if_version: int | None) -> Flow[PromptVersion]:
        """Change a name that has this version; None for whichever it has, or for a new name."""
        path = path_of("prompts", name)
        try:
            headers = yield from self._say_version(path, if_version)
        except NotFound:
            headers = {"If-None-Match": "*"}
        given = {key: value for key, value in body.items() if value is not None}
        return (yield from self._change_name("PUT", path, {"json": given, "headers": headers}))

    def add_examples(
        self, name: str, examples: Iterable[tuple[str, str]], note: str | None, if_version: int | None
    ) -> Flow[PromptVersion]:
        """Add rows to the pool of a name; see `put` for the version."""
        path = path_of("prompts", name)
        headers = yield from self._say_version(path, if_version)
        body: dict[str, Any] = {"examples": [{"text": text, "label": label} for text, label in examples]}
        body |= {} if note is None else {"note": note}
        return (yield from self._change_name("POST", f"{path}/examples", {"json": body, "headers": headers}))

    def take_example_out(self, name: str, row: int, note: str | None, if_version: int | None) -> Flow[PromptVersion]:
        """Take a row out of the pool of a name; see `put` for the version."""
        path = path_of("prompts", name)
        headers = yield from self._say_version(path, if_version)
        params = {} if note is None else {"note": note}
        call = {"params": params, "headers": headers}
        return (yield from self._change_name("DELETE", f"{path}/examples/{int(row)}", call))

    def make_dataset(self, name: str) -> Flow[Dataset]:
        """Store the examples of a name as a dataset."""
        answer = yield from ask(Call("POST", path_of("prompts", name, "dataset")))
        return Dataset.model_validate_json(answer.content)

    def _say_version(self, path: str, if_version: int | None) -> Flow[dict[str, str]]:
        if if_version is None:
            current = yield from self.read_as(PromptVersion, path)
            if_version = current.version
        return {"If-Match": f'"{if_version}"'}

    def _change_name(self, method: str, path: str, arguments: Mapping[str, Any]) -> Flow[PromptVersion]:
        answer = yield from ask(Call(method, path, arguments, is_repeatable=False))
        return PromptVersion.model_validate_json(answer.content)

    def render(
        self, path: str, inputs: str | list[str] | tuple[str, ...], prompts: str, use: Use | None
    ) -> Flow[Rendered]:
        body: dict[str, Any] = {"input": inputs} if isinstance(inputs, str) else {"inputs": list(inputs)}
        body |= {"prompts": prompts} | ({} if use is None else {"use": use})
        answer = yield from ask(Call("POST", f"{path}/render", {"json": body}))
        return Rendered.model_validate_json(answer.content)

    def support_examples(self, path: str, use: Use | None, input: str | None) -> Flow[SupportExamples]:
        return self.read_as(SupportExamples, f"{path}/support-examples", use=use, input=input)

    def list_models(self) -> Flow[list[dict[str, Any]]]:
        answer = yield from self.read_json("/models")
        return list(answer["items"])

    def suspicious_labels(self, selection_id: str) -> Flow[list[SuspiciousLabel]]:
        shown = yield from self.read_json(path_of("selections", selection_id, "suspicious-labels"))
        return [SuspiciousLabel.model_validate(item) for item in shown["items"]]


def path_of(*parts: str) -> str:
    """The path of these parts, quoted, so that no name is read as another path.

    Raises:
        ValueError: a part is empty or a step to another folder.
    """
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"{part!r} is no name or id")
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def read_file(file: File) -> bytes:
    return file if isinstance(file, bytes) else Path(file).read_bytes()
