"""Runs in Schemathesis: requests that meet what is stored, and checks of every answer."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response

from tests.fuzz import FOLDER_VARIABLE, KEY, SECRET
from tests.fuzz.files import draw_file
from tests.integration.samples import make_spec, make_submission

_folder = Path(os.environ[FOLDER_VARIABLE])
_ids: dict[str, list[str]] = json.loads((_folder / "ids.json").read_text())
_foreign = {*_ids["ben"], *_ids["ben_datasets"]}
_own: list[str] = []  # made on the way
_draw = Random((_folder / "seed").read_text())


@schemathesis.hook
def before_call(_: HookContext, case: Case, kwargs: dict[str, Any]) -> None:  # noqa: ARG001
    """Put ids and a good submission into some requests: random ones are refused at the door."""
    if "selection_id" in (case.path_parameters or {}) and _draw.random() < 0.75:
        lasting = [] if case.method == "DELETE" else _ids["ada"]  # the seeded ones are there for all reads
        case.path_parameters["selection_id"] = _draw.choice([*lasting, *_own[-5:], *_ids["ben"]])
    if case.operation.label == "POST /selections" and isinstance(case.body, dict) and _draw.random() < 0.6:
        case.body = _make_submission(case.body, str(case.media_type))
        if _draw.random() < 0.2:
            case.headers["Idempotency-Key"] = f"{KEY}{_draw.randrange(3)}"


def _make_submission(given: dict[str, Any], media_type: str) -> dict[str, Any]:
    """A good submission, of which some members are those of the case."""
    changes = given.get("spec")
    changed = {name: value for name, value in changes.items() if _draw.random() < 0.4} if _is_dict(changes) else {}
    kept = {name: value for name, value in given.items() if name != "spec" and _draw.random() < 0.3}
    spec = make_spec(**changed)
    if media_type != "application/json":
        return {"dataset": draw_file(_draw), "spec": json.dumps(spec), **kept}
    good: dict[str, Any] = {**make_submission(), "spec": spec}
    if _draw.random() < 0.3:
        del good["examples"]
        good["dataset_id"] = _draw.choice([*_ids["ada_datasets"], *_ids["ben_datasets"]])
    return {**good, **kept}


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


@schemathesis.check
def wall(_: CheckContext, response: Response, case: Case) -> None:
    """The answer to ada has nothing of ben's, but an id that she named in a request that is refused."""
    text = response.content.decode("utf-8", "replace")
    assert SECRET not in text, "shows a text of another owner"
    asked = f"{response.request.url} {case.body!r}"
    assert not [one for one in _foreign if one in text and one not in asked], "shows an id of another owner"
    if response.status_code < 300:
        assert not any(one in str(response.request.url) for one in _foreign), "a request for another owner's succeeded"


@schemathesis.check
def problem(_: CheckContext, response: Response, case: Case) -> None:
    """A refusal says what is wrong, and can be found in the log."""
    if response.status_code >= 400 and case.method != "HEAD":
        body = json.loads(response.content)
        assert body["type"] == f"/docs#{body['code']}"
        assert body["status"] == response.status_code
        assert body["title"]
        assert body["detail"]
        assert [body["request_id"]] == response.headers["x-request-id"]


@schemathesis.check
def journal(_: CheckContext, response: Response, case: Case) -> None:
    """Write down what was acknowledged, for the comparison with what is stored."""
    named = ""
    if response.status_code == 202 and case.operation.label == "POST /selections":
        named = json.loads(response.content)["id"]
        _own.append(named)
    elif response.status_code == 204 and case.method == "DELETE":
        named = str(response.request.url).rpartition("/")[2]
    with (_folder / "journal").open("a") as file:
        file.write(f"{case.operation.label}\t{response.status_code}\t{named}\n")
