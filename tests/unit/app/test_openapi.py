"""The OpenAPI document: references resolve, and it declares the answers that the service gives."""

from collections.abc import Iterator
from typing import Any

import openapi_spec_validator
import pytest

from app.lifecycle.endings import RESUMED, WORKER_UNFIT
from app.main import create_app
from app.settings import Settings
from lens_engine.errors import CheckpointDamaged, CheckpointForeign, EndpointAway
from worker.faults import ModelMoved


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings(_env_file=None)).openapi()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_document_is_valid_openapi(document: dict[str, Any]) -> None:
    openapi_spec_validator.validate(document)
    assert [name for name in document["components"]["schemas"] if "__" in name] == []  # two models of one name


def test_operations_have_short_names_of_their_own(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert {"submit_selection", "get_selection", "classify_texts_by_name", "store_dataset"} <= set(names)
    assert len(set(names)) == len(names)
    assert max(map(len, names)) < 30


def test_errors_are_problems_and_nothing_else(document: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for name, operation in operations(document):
        for status, response in operation["responses"].items():
            if status == "default" or int(status) >= 400:
                schema = {"$ref": "#/components/schemas/Problem"}
                assert response["content"] == {"application/problem+json": {"schema": schema}}, (name, status)


def fields(node: Any, owner: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of every schema with its name."""
    if isinstance(node, dict):
        owner = node["title"] if isinstance(node.get("title"), str) else owner
        if isinstance(node.get("properties"), dict):
            yield from ((f"{owner}.{name}", field) for name, field in node["properties"].items())
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from fields(child, owner)


def test_every_field_is_described(document: dict[str, Any]) -> None:
    found = list(fields(document))
    types = document["components"]["schemas"]
    named = {
        name for name, field in found if "$ref" in field and types[field["$ref"].rpartition("/")[2]].get("description")
    }
    assert len(found) > 100
    assert {name for name, field in found if not field.get("description")} - named == set()


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    parameters = [item for _, operation in operations(document) for item in operation.get("parameters", [])]
    assert parameters
    assert [item["name"] for item in parameters if not item.get("description")] == []


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


@pytest.mark.parametrize("path", ["", "/support-examples", "/result", "/classifier"])
def test_conditional_get_is_declared(document: dict[str, Any], path: str) -> None:
    operation = document["paths"]["/selections/{selection_id}" + path]["get"]
    assert "304" in operation["responses"]
    assert "content" not in operation["responses"]["304"]
    assert "If-None-Match" in {parameter["name"] for parameter in operation["parameters"]}


def test_kinds_of_events_are_all_described(document: dict[str, Any]) -> None:
    properties = document["components"]["schemas"]["EventOut"]["properties"]
    codes = (CheckpointDamaged.code, CheckpointForeign.code, EndpointAway.code, ModelMoved.code)
    for kind in ("status", "phase", "classifier", *codes, WORKER_UNFIT, RESUMED):
        assert kind in properties["type"]["description"]


@pytest.mark.parametrize(
    ("media_type", "name"), [("application/json", "SubmissionBody"), ("multipart/form-data", "SubmissionForm")]
)
def test_bodies_of_a_submission_have_names(document: dict[str, Any], media_type: str, name: str) -> None:
    body = document["paths"]["/selections"]["post"]["requestBody"]["content"][media_type]["schema"]
    assert body == {"$ref": f"#/components/schemas/{name}"}


PUBLIC = {"GET /healthz", "GET /readyz"}


def test_routes_with_a_key_name_its_scheme(document: dict[str, Any]) -> None:
    scheme = document["components"]["securitySchemes"]["ApiKey"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for name, operation in operations(document):
        is_public = name in PUBLIC
        assert operation.get("security", []) == ([] if is_public else [{"ApiKey": []}]), name
        assert ("401" in operation["responses"]) is not is_public, name
