"""Requests that Schemathesis makes of the OpenAPI document, brought closer to what the service holds."""

import json
import random
from collections.abc import Callable
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)

from app.ids import encode_cursor
from tests.fuzz.files import draw_file
from tests.fuzz.population import Population
from tests.fuzz.requester import Requester
from tests.fuzz.service import OWNERS
from tests.integration.samples import make_csv, make_spec, make_submission

MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
_CONFORMANCE = [content_type_conformance, response_headers_conformance, response_schema_conformance]


def operations_of(document: dict[str, Any]) -> list[Any]:
    """Every operation of the document."""
    return [found.ok() for found in schemathesis.openapi.from_dict(document).get_all_operations()]


def fuzz_operation(requester: Requester, operation: Any, mode: GenerationMode, count: int, number: int) -> None:
    """Send `count` requests for an operation; `number` is their seed."""
    draw = random.Random(number)

    def act(case: Case) -> None:
        _send(requester, case, draw)

    _for_each_example(operation.as_strategy(generation_mode=mode), count, number, act)


def _for_each_example(strategy: Any, count: int, number: int, act: Callable[[Case], None]) -> None:
    @seed(number)
    @hypothesis_settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def run(case: Case) -> None:
        act(case)

    try:
        run()
    except Unsatisfiable:
        return  # an operation without parameters has no invalid request


def _send(requester: Requester, case: Case, draw: random.Random) -> None:
    population = requester.population
    owner = draw.choice(OWNERS) if draw.random() < 0.9 else None
    _make_real(case, population, draw, owner)
    try:
        arguments = case.as_transport_kwargs(base_url=population.service.address)
    except (ValueError, TypeError):
        requester.unsent += 1
        return
    arguments.pop("cookies", None)
    label = case.operation.label
    response = requester.send(label, owner, arguments)
    if response is None:
        return
    if str(response.status_code) not in case.operation.definition.raw["responses"] and response.status_code != 405:
        requester.fail(label, f"status {response.status_code} is not documented", response.text[:2000])
    try:
        case.validate_response(response, checks=_CONFORMANCE)
    except schemathesis.errors.SchemathesisError as error:
        requester.fail(label, f"unreadable for the checks: {error}", response.text[:2000])
    except BaseExceptionGroup as group:
        for failure in group.exceptions:
            fault = f"{type(failure).__name__} {str(failure).splitlines()[0]}"
            requester.fail(label, fault, f"{arguments}\n\n{failure}")


def _make_real(case: Case, population: Population, draw: random.Random, owner: str | None) -> None:
    """Put ids, cursors and a good submission into some requests: random ones are refused at the door."""
    if "selection_id" in (case.path_parameters or {}) and draw.random() < 0.75:
        case.path_parameters["selection_id"] = population.draw_id(draw, owner)
    if isinstance(case.query, dict) and draw.random() < 0.2:
        case.query["cursor"] = encode_cursor(draw.choice((population.draw_id(draw), "17", "9" * 30)))
    if case.operation.label == "POST /selections" and isinstance(case.body, dict) and draw.random() < 0.6:
        case.body = _make_submission(case, population, draw)


def _make_submission(case: Case, population: Population, draw: random.Random) -> dict[str, Any]:
    """A good submission, of which some members are those of the case."""
    given_spec = case.body.get("spec")
    changes = given_spec if isinstance(given_spec, dict) else {}
    spec = make_spec(**{name: value for name, value in changes.items() if draw.random() < 0.4})
    kept = {name: value for name, value in case.body.items() if name != "spec" and draw.random() < 0.3}
    if case.media_type == "application/json":
        good: dict[str, Any] = {**make_submission(), "spec": spec}
        if draw.random() < 0.3:
            good["dataset_id"] = population.draw_dataset_id(draw)
            del good["examples"]
        return {**good, **kept}
    content = draw_file(draw)[1] if draw.random() < 0.5 else make_csv()
    return {"dataset": content, "spec": json.dumps(spec, default=str), **kept}
