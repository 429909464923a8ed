"""The pages on the HTTP API, from its OpenAPI document: one for the calls of each kind, and one for all bodies."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.main import create_app
from app.settings import Settings
from docs.site.tables import make_cell, make_table

_Schema = Mapping[str, Any]
_BODIES = "bodies"


def write_http_api() -> dict[str, str]:
    """The pages by name."""
    document = create_app(Settings(_env_file=None)).openapi()
    calls = [
        (call["tags"][0], line)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
        for line in _describe_call(f"{method.upper()} {path}", call)
    ]
    pages = {kind: [f"# Calls: {kind}", ""] for kind, _ in calls}
    for kind, line in calls:
        pages[kind].append(line)
    pages[_BODIES] = ["# Bodies", "", *_describe_bodies(document["components"]["schemas"])]
    return {name: "\n".join(lines) for name, lines in pages.items()}


def _describe_call(name: str, call: _Schema) -> Iterator[str]:
    yield from (f"## {name}", "", call.get("description", call["summary"]), "")
    parameters = [
        [f"`{given['name']}`", given["in"], _name_type(given["schema"]), make_cell(given.get("description", ""))]
        for given in call.get("parameters", ())
    ]
    yield from (*make_table(["Parameter", "In", "Type", "Meaning"], parameters), "")
    for body in _list_contents(call.get("requestBody", {})):
        yield from (f"Body: {body}", "")
    answers = [
        [status, make_cell(answer["description"]), ", ".join(_list_contents(answer)), _name_headers(answer)]
        for status, answer in call["responses"].items()
    ]
    yield from (*make_table(["Answer", "When", "Body", "Headers"], answers), "")


def _list_contents(answer: _Schema) -> list[str]:
    """Media types with their schemas. Of problem documents the schema alone, because all have the same."""
    contents = answer.get("content", {})
    return [
        _name_type(body["schema"]) if kind == "application/problem+json" else f"`{kind}` {_name_type(body['schema'])}"
        for kind, body in contents.items()
    ]


def _name_headers(answer: _Schema) -> str:
    return ", ".join(f"`{name}`" for name in answer.get("headers", ()))


def _describe_bodies(schemas: Mapping[str, _Schema]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield from (f"## {name}", "", make_cell(schema.get("description", "")), "")
        if "enum" in schema:
            yield from (_name_type(schema), "")
        rows = [
            [f"`{field}`", _name_type(kind), _name_default(field, kind, schema), make_cell(kind.get("description", ""))]
            for field, kind in schema.get("properties", {}).items()
        ]
        yield from (*make_table(["Field", "Type", "Default", "Meaning"], rows), "")


def _name_default(field: str, kind: _Schema, schema: _Schema) -> str:
    if field in schema.get("required", ()):
        return "required"
    return f"`{json.dumps(kind['default'])}`" if kind.get("default") is not None else ""


def _name_type(kind: _Schema) -> str:
    """A schema in a few words, with a link to the body that it names."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}]({_BODIES}.md#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in kind:
            return " or ".join(dict.fromkeys(_name_type(one) for one in kind[several]))
    if "const" in kind or "enum" in kind:
        return ", ".join(f"`{value}`" for value in kind.get("enum", [kind.get("const")]))
    if kind.get("type") == "array":
        return f"list of {_name_type(kind['items'])}" if kind.get("items") else "list"
    return str(kind.get("format", kind.get("type", "any")))
