"""The OpenAPI document: references resolve, and it declares the answers that the service gives."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.main import create_app
from app.settings import Settings


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings(_env_file=None)).openapi()


def references(node: Any) -> Iterator[str]:
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    for child in children:
        yield from references(child)


def resolves(document: dict[str, Any], reference: str) -> bool:
    root, *parts = reference.split("/")
    node: Any = document
    for part in parts:
        node = node.get(part) if isinstance(node, dict) else None
    return root == "#" and node is not None


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert found
    assert {reference for reference in found if not resolves(document, reference)} == set()


def test_errors_are_problems_and_nothing_else(document: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for name, operation in operations(document):
        for status, response in operation["responses"].items():
            if status == "default" or int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"], (name, status)


def test_every_answer_is_described(document: dict[str, Any]) -> None:
    generic = {"Successful Response", "Validation Error", ""}
    texts = {
        (name, status): response["description"]
        for name, operation in operations(document)
        for status, response in operation["responses"].items()
    }
    assert {place for place, text in texts.items() if text in generic} == set()


def test_repeated_cancel_is_declared(document: dict[str, Any]) -> None:
    responses = document["paths"]["/selections/{selection_id}/cancel"]["post"]["responses"]
    assert {"200", "202"} <= set(responses)
    assert responses["200"]["content"] == responses["202"]["content"]


@pytest.mark.parametrize("path", ["/selections/{selection_id}", "/selections/{selection_id}/support-examples"])
def test_conditional_get_is_declared(document: dict[str, Any], path: str) -> None:
    operation = document["paths"][path]["get"]
    assert "304" in operation["responses"]
    assert "content" not in operation["responses"]["304"]
    assert "If-None-Match" in {parameter["name"] for parameter in operation["parameters"]}
