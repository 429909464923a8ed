"""Every place of a request that takes a value, found in the OpenAPI document, and values that break careless code."""

import copy
import itertools
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from tests.integration.samples import make_rows

MARKS = "e" + "\u0301" * 20_000
JSON_VALUES: dict[str, str] = {
    "NUL": '"a\\u0000b"',
    "half a surrogate pair": '"a\\ud800"',
    "superscript digit": '"²"',
    "Arabic digit": '"٣"',
    "no character": '"\ufffe\uffff"',
    "flood of marks": f'"{MARKS}"',
    "long": json.dumps("x" * 150_000),
    "1e999": "1e999",
    "NaN": "NaN",
    "-Infinity": "-Infinity",
    "long number": "9" * 5000,
    "100,000 lists": "[" * 100_000 + "]" * 100_000,
    "101 lists": "[" * 101 + "]" * 101,
}
"""What a JSON document may hold at any place, as it is written."""

_BYTES: dict[str, bytes] = {
    "NUL": b"a\x00b",
    "half a surrogate pair": b"\xed\xa0\x80",
    "superscript digit": "²".encode(),
    "superscript digit in Latin-1": b"\xb2",
    "Arabic digit": "٣".encode(),
    "no character": "\ufffe\uffff".encode(),
    "flood of marks": MARKS.encode(),
    "not UTF-8": b"\xff\xfe\xff",
    "NaN": b"NaN",
    "1e999": b"1e999",
    "-1": b"-1",
    "long number": b"9" * 5000,
    "100,000 lists": b"[" * 100_000,
    "quote": b'"',
}
PARTS = {**_BYTES, "long": b"x" * 150_000}
CELLS = {**PARTS, "longer than a row": b"x" * 1_100_000}
WORDS = {name: value for name, value in _BYTES.items() if name not in ("100,000 lists", "flood of marks")}
WORDS |= {"long": b"x" * 5000, "flood of marks": MARKS.encode()[:1000], "": b"", "cursor": urlsafe_b64encode(b"-1e9")}
"""What a path, a query or a header may hold: servers bound their length."""

HEADERS = (
    *("Accept", "Accept-Encoding", "Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Cookie"),
    *("Forwarded", "HX-Request", "Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range"),
    *("Origin", "Range", "Sec-Fetch-Site", "X-API-Key", "X-Forwarded-For", "X-Request-ID"),
)
"""Headers that the service, its framework or a server before it reads, also where no route declares them."""

_PAGE_FORM = b"application/x-www-form-urlencoded"
_KEY = object()
"""The step of a path to the name of a member."""
_MARK = "@place@"
_NUMBER = b"@number@"
"""What each request has another number for: the service takes an example once."""
Path = tuple[Any, ...]


@dataclass(frozen=True)
class Request:
    """One request, of which one place holds a value."""

    method: str
    url: str
    place: str  #: the name of the field, header or parameter, which a refusal says; "" for one that it need not say
    #: several with | between them: one of them
    value: str  #: the name of the value
    headers: Mapping[str, bytes] = field(default_factory=dict)
    content: bytes | None = None

    @property
    def places(self) -> list[str]:
        return self.place.split("|")

    def __str__(self) -> str:
        return f"{self.method} {self.url[:80]}: {self.value} in {self.place}"


@dataclass(frozen=True)
class Operation:
    """A method of a path, as the document describes it.

    Args:
        known: values of path parameters and of fields, by name: ids of what there is.
        words: the next of the values for a header that the route does not name.
    """

    document: Mapping[str, Any]
    method: str
    path: str
    described: Mapping[str, Any]
    known: Mapping[str, str]
    words: Iterator[str]
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @cached_property
    def base(self) -> dict[str, bytes]:
        """Headers without which the operation refuses everything."""
        is_change = self.method == "DELETE" or "if-match" in map(str.lower, self.parameters("header"))
        new = {"If-None-Match": b"*"} if self.method == "PUT" else {"If-Match": b"*"} if is_change else {}
        return {"Content-Type": self.media_types[0].encode(), **new} if self.media_types else new

    @property
    def media_types(self) -> list[str]:
        return list(self.described.get("requestBody", {}).get("content", {}))

    def parameters(self, place: str) -> list[str]:
        return [one["name"] for one in self.described.get("parameters", ()) if one["in"] == place]

    def url(self, **changes: str) -> str:
        # A method that takes something away has an id that nothing has, so that the next request finds all.
        harmless = {**dict.fromkeys(self.known, "sel_" + "0" * 26), "row": "999999999"}
        known = self.known if self.method in ("GET", "PUT") or self.media_types else harmless
        if self.method == "PUT":
            known = {**known, "name": f"new-{next(self.numbers)}"}
        names = self.parameters("path")
        return self.path.format(**{name: changes.get(name, known.get(name, "sel_" + "0" * 26)) for name in names})

    @property
    def takes_good_request(self) -> bool:
        """Whether a request by the document can succeed: not one that takes away what has an end."""
        return self.method in ("GET", "PUT") or bool(self.media_types)

    def good(self) -> Iterator[tuple[str, Request]]:
        """A request for each kind of body, as the document shows it."""
        for kind in self.media_types or [""]:
            yield kind, self._send("", "nothing", kind)

    def _send(self, place: str, value: str, kind: str = "", **changes: Any) -> Request:
        headers = {**self.base, **({"Content-Type": _type(kind)} if kind else {}), **changes.pop("headers", {})}
        if kind and "content" not in changes:
            changes["content"] = self._good_body(kind)
        if _NUMBER in (content := changes.get("content") or b""):
            changes["content"] = content.replace(_NUMBER, str(next(self.numbers)).encode())
        return Request(self.method, changes.pop("url", self.url()), place, value, headers, **changes)

    def _good_body(self, kind: str) -> bytes:
        body = self._base_body(kind)
        return json.dumps(body).encode() if kind == "application/json" else _write_form(self._parts(body))

    def in_paths(self) -> Iterator[Request]:
        for name in self.parameters("path"):
            for value, raw in WORDS.items():
                if raw:
                    yield self._send(
                        name,
                        value,
                        self.media_types[0] if self.media_types else "",
                        url=self.url(**{name: quote(raw, safe="")}),
                    )

    def in_queries(self) -> Iterator[Request]:
        for name in self.parameters("query"):
            for value, raw in WORDS.items():
                for written in {quote(raw), quote(urlsafe_b64encode(raw[:60]).rstrip(b"="))}:
                    yield self._send(name, value, url=f"{self.url()}?{name}={written}")
                yield self._send("", value, url=f"{self.url()}?{quote(raw)}=1")

    def in_headers(self) -> Iterator[Request]:
        """All values in the headers of the route; in each other header one of the values, in turn."""
        kind = self.media_types[0] if self.media_types else ""
        own = self.parameters("header")
        for name in dict.fromkeys([*own, *HEADERS]):
            for value in WORDS if name in own else [next(self.words)]:
                raw = WORDS[value]
                yield self._send(name, value, kind, headers={name: raw})

    def in_bodies(self) -> Iterator[Request]:
        """All values at each place of a JSON body, and of the JSON parts of a form."""
        for kind in self.media_types:
            body, schema = self._base_body(kind), self._schema(kind)
            required = set(self._resolve(schema).get("required", ()))
            least = {name: value for name, value in body.items() if name in required}
            for path in dict.fromkeys(self._places(schema, body)):
                yield from self._with_values(kind, schema, body, path)
                if path and path[0] is not _KEY and path[0] not in body:  # perhaps in place of a field of the body
                    for request in self._with_values(kind, schema, least, path):
                        yield replace(request, place="")

    def in_files(self) -> Iterator[Request]:
        """All values in each header and cell of a CSV file, in each key and value of a JSONL file."""
        for kind in self.media_types:
            schema = self._resolve(self._schema(kind))
            for name in [name for name, one in schema.get("properties", {}).items() if one.get("format") == "binary"]:
                for place, value, file in _bad_files(name):
                    parts = {**self._parts(self._base_body(kind)), name: _File(file)}
                    yield self._send(f"{place}|row |the header|the file", value, kind, content=_write_form(parts))

    def _with_values(self, kind: str, schema: Any, body: Any, path: Path) -> Iterator[Request]:
        """All values at one place of a body. A refusal may name the row where the place says how rows are read."""
        is_key = path[-1:] == (_KEY,)
        name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
        place = "" if is_key else f"{name}|row "
        if kind == "application/json":
            marked = _put(body, path, _MARK)
            contents = {value: _write(marked, written) for value, written in _fitting(is_key=is_key)}
        elif path and path[0] is not _KEY:
            contents = self._with_part(schema, body, path)
        else:
            parts = self._parts(body) if is_key else {}
            contents = {value: _write_form({**parts, raw: b"x"}) for value, raw in PARTS.items()}
        for value, content in contents.items():
            yield self._send(place, value, kind, content=content)

    def _with_part(self, schema: Any, body: Any, path: Path) -> dict[str, bytes]:
        """Forms in which a part of text, or a place in a part of JSON, has each of the values."""
        part = self._resolve(self._resolve(schema)["properties"][path[0]])
        parts = self._parts(body)
        if part.get("properties"):
            marked = _put(body, path, _MARK)[path[0]]
            fitting = _fitting(is_key=path[-1] is _KEY)
            return {value: _write_form({**parts, path[0]: _write(marked, written)}) for value, written in fitting}
        if part.get("format") == "binary":
            return {}
        return {value: _write_form({**parts, path[0]: raw}) for value, raw in PARTS.items()}

    def _schema(self, kind: str) -> Any:
        return self.described["requestBody"]["content"][kind]["schema"]

    def _base_body(self, kind: str) -> Any:
        shown = self.described["requestBody"]["content"][kind].get("example")
        made = copy.deepcopy(shown) if shown is not None else self._make(self._schema(kind))
        properties = self._resolve(self._schema(kind)).get("properties", {})
        return {**{name: self.known[name] for name in properties if name in self.known and shown is None}, **made}

    def _make(self, schema: Any) -> Any:
        """A value of a schema, as small as it can be, with the examples that it has."""
        schema = self._resolve(schema)
        if schema.get("title") == "LabelledText":
            return {"text": f"Film {_NUMBER.decode()}", "label": "positive"}
        if "examples" in schema:
            return copy.deepcopy(schema["examples"][0])
        if schema.get("type") == "array" and schema.get("minItems"):
            return [self._make(schema["items"])]
        needed = schema.get("required", ())
        return {
            name: self._make(one)
            for name, one in schema.get("properties", {}).items()
            if name in needed or "examples" in one
        }

    def _parts(self, body: Mapping[str, Any]) -> dict[Any, bytes]:
        """The parts of a form that its example shows: a value like `reviews.csv` is a file."""
        return {
            name: _good_file() if str(value).endswith(".csv") else json.dumps(value).encode()
            for name, value in body.items()
        }

    def _resolve(self, schema: Any) -> Any:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def _places(self, schema: Any, value: Any) -> Iterator[Path]:
        """The paths to all that a schema describes, and to all of a good value that the schema leaves open."""
        schema = self._resolve(schema)
        yield ()
        for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
            yield from self._places(one, value)
        if schema.get("type") == "object" or "properties" in schema:
            yield (_KEY,)
            known = schema.get("properties", {})
            for name, one in known.items():
                yield from (
                    (name, *path) for path in self._places(one, value.get(name) if isinstance(value, dict) else None)
                )
            if (open_schema := schema.get("additionalProperties")) not in (None, False):
                inner = {} if open_schema is True else open_schema
                for name, one in (value or {"x": None}).items() if isinstance(value, dict | None) else ():
                    if name not in known:
                        yield from ((name, *path) for path in self._places(inner, one))
        elif schema.get("type") == "array":
            items = value or [None] if isinstance(value, list | None) else []
            for place, one in enumerate(items[:1]):
                yield from ((place, *path) for path in self._places(schema.get("items", {}), one))
        elif not schema.keys() & {"type", "anyOf", "oneOf", "allOf", "enum", "const"} and isinstance(value, dict):
            yield (_KEY,)
            for name, one in value.items():
                yield from ((name, *path) for path in self._places({}, one))


def list_operations(document: Mapping[str, Any], known: Mapping[str, str]) -> list[Operation]:
    words = itertools.cycle(WORDS)
    return [
        Operation(document, method.upper(), path, described, known, words)
        for path, operations in document["paths"].items()
        for method, described in operations.items()
    ]


def list_hidden(routes: Iterable[Any]) -> list[Any]:
    """The routes that no document has, of an application and of the routers in it."""
    found = list[Any]()
    for one in routes:
        if isinstance(one, APIRoute):
            found += [] if one.include_in_schema else [one]
        elif (router := getattr(one, "original_router", None)) is not None:
            found += list_hidden(router.routes)
    return found


def describe_hidden(routes: Iterable[Any]) -> dict[str, Any]:
    """A document of the routes that no document has."""
    shown = [copy.copy(one) for one in list_hidden(routes)]
    for one in shown:
        one.include_in_schema = True
    return get_openapi(title="hidden", version="1", routes=shown)


def fill_forms(operations: Iterable[Operation], fields: Mapping[str, str]) -> Iterator[Request]:
    """All values in each field of a form of a page."""
    for operation in operations:
        for name in fields:
            for value, raw in WORDS.items():
                content = urlencode({**fields, name: raw}).encode()
                url = operation.url(**operation.known)
                yield Request(operation.method, url, "", value, {"Content-Type": _PAGE_FORM}, content)


def _put(body: Any, path: Path, value: Any) -> Any:
    """A copy of the body with the value at a path, which is made as far as it is missing."""
    if not path:
        return value
    step, *rest = path
    if step is _KEY:
        return {**(body if isinstance(body, dict) else {}), value: "x"}
    if isinstance(step, int):
        old = body if isinstance(body, list) and len(body) > step else [None]
        return [*old[:step], _put(old[step], tuple(rest), value), *old[step + 1 :]]
    old_members = body if isinstance(body, dict) else {}
    return {**old_members, step: _put(old_members.get(step), tuple(rest), value)}


def _write(marked: Any, written: str) -> bytes:
    return json.dumps(marked, ensure_ascii=False).replace(json.dumps(_MARK), written).encode()


def _type(kind: str) -> bytes:
    return b"multipart/form-data; boundary=edge" if kind.startswith("multipart") else kind.encode()


class _File(bytes):
    """A part of a form that has the name of a file."""


def _write_form(parts: Mapping[Any, bytes]) -> bytes:
    made = b""
    for name, content in parts.items():
        raw = name if isinstance(name, bytes) else name.encode()
        file = b'; filename="a.csv"' if isinstance(content, _File) else b""
        made += (
            b'--edge\r\nContent-Disposition: form-data; name="' + raw + b'"' + file + b"\r\n\r\n" + content + b"\r\n"
        )
    return made + b"--edge--\r\n"


def _fitting(*, is_key: bool) -> list[tuple[str, str]]:
    """The values that JSON may have at a place: a key is a string."""
    return [(value, written) for value, written in JSON_VALUES.items() if written.startswith('"') or not is_key]


def _good_file(of: str = "") -> _File:
    rows = [f"{row['text']} {of},{row['label']},x\n".encode() for row in make_rows()]
    return _File(b"".join([b"text,label,note\n", *rows]))


def _bad_files(part: str) -> Iterator[tuple[str, str, bytes]]:
    """(column, value, file of other texts than `_good_file`)."""
    lines = _good_file(part).splitlines(keepends=True)
    for value, raw in CELLS.items():
        for place, name in enumerate(("text", "label", "note")):
            for number in (0, 1):
                cells = lines[number].rstrip().split(b",")
                cells[place] = raw if number else cells[place] + raw
                yield name, value, b"".join([*lines[:number], b",".join(cells) + b"\n", *lines[number + 1 :]])
    rows = [{"text": f"{row['text']} {part}", "label": row["label"], "note": "x"} for row in make_rows()]
    rest = b"".join(json.dumps(row).encode() + b"\n" for row in rows[1:])
    for name in rows[0]:
        for value, written in JSON_VALUES.items():
            yield name, value, _write({**rows[0], name: _MARK}, written) + b"\n" + rest
    for value, written in _fitting(is_key=True):
        yield "", value, _write({**rows[0], _MARK: "x"}, written) + b"\n" + rest
