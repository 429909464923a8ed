"""Runs in Schemathesis: requests that meet what is stored, and checks of every answer."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response

from tests.fuzz import FOLDER_VARIABLE, KEY, PREFIXES, SECRET
from tests.fuzz.archives import draw_archive
from tests.integration.samples import make_csv, make_spec, make_submission

_folder = Path(os.environ[FOLDER_VARIABLE])
_ids: dict[str, dict[str, list[str]]] = json.loads((_folder / "ids.json").read_text())
_foreign = {one for ids in _ids["ben"].values() for one in ids}
_own: dict[str, list[str]] = {prefix: [] for prefix in PREFIXES.values()}  # made on the way
_GOOD: dict[str, dict[str, Any]] = {
    "POST /selections/{selection_id}/classify": {"inputs": ["a warm film"]},
    "POST /prompts/{name}/classify": {"inputs": ["a warm film", "\r\n\u202e{label}"]},
    "POST /selections/{selection_id}/render": {"input": "a warm film"},
    "POST /prompts/{name}/render": {"inputs": ["a warm film", "\r\n\u202e{label}"]},
}
_EXAMPLES = "/prompts/{name}/examples"
_draw = Random((_folder / "seed").read_text())


@schemathesis.hook
def before_call(_: HookContext, case: Case, kwargs: dict[str, Any]) -> None:  # noqa: ARG001
    """Put ids and a good submission into some requests: random ones are refused at the door."""
    is_about_rows = case.operation.path.startswith(_EXAMPLES)
    takes_away = case.method == "DELETE" and not is_about_rows
    for parameter in (case.path_parameters or {}).keys() & _ids["ada"].keys():
        lasting = [] if takes_away else _ids["ada"][parameter]  # the seeded ones are there for all reads
        made = _own.get(PREFIXES.get(parameter, ""), [])
        if (known := [*lasting, *made[-5:], *_ids["ben"][parameter]]) and _draw.random() < 0.75:
            case.path_parameters[parameter] = _draw.choice(known)
    if case.operation.label == "POST /selections" and isinstance(case.body, dict) and _draw.random() < 0.6:
        case.body = _make_submission(case.body, str(case.media_type))
        if _draw.random() < 0.2:
            case.headers["Idempotency-Key"] = f"{KEY}{_draw.randrange(3)}"
    if is_about_rows and _draw.random() < 0.6:
        case.headers["If-Match"] = "*"
        if case.method == "DELETE":
            case.path_parameters["row"] = _draw.randrange(70)
        elif case.method == "POST" and _is_dict(case.body):
            label = _draw.choice(["positive", "negative"])
            case.body = {"examples": [{"text": f"a film {_draw.random()}", "label": label}]}
    is_json = str(case.media_type) == "application/json" and _is_dict(case.body)
    if is_json and case.operation.label in _GOOD and _draw.random() < 0.4:
        case.body = _GOOD[case.operation.label]


def _make_submission(given: dict[str, Any], media_type: str) -> dict[str, Any]:
    """A good submission, of which some members are those of the case."""
    changes = given.get("spec")
    changed = {name: value for name, value in changes.items() if _draw.random() < 0.4} if _is_dict(changes) else {}
    kept = {name: value for name, value in given.items() if name != "spec" and _draw.random() < 0.3}
    spec = make_spec(**changed)
    if media_type != "application/json":
        return {"dataset": _draw.choice((make_csv(), draw_archive(_draw))), "spec": json.dumps(spec), **kept}
    good: dict[str, Any] = {**make_submission(), "spec": spec}
    if _draw.random() < 0.3:
        del good["examples"]
        good["dataset_id"] = _draw.choice([*_ids["ada"]["dataset_id"], *_ids["ben"]["dataset_id"]])
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
    """A refusal says what is wrong, and can be found in the log. Nothing fails but what asks the process that answers
    at once, which does not run here."""
    if response.status_code >= 400 and case.method != "HEAD":
        body = json.loads(response.content)
        assert response.status_code < 500 or body["code"] == "answers-away"
        assert body["type"] == f"/docs#{body['code']}"
        assert body["status"] == response.status_code
        assert body["title"]
        assert body["detail"]
        assert [body["request_id"]] == response.headers["x-request-id"]


@schemathesis.check
def journal(_: CheckContext, response: Response, case: Case) -> None:
    """Write down what was acknowledged, for the comparison with what is stored."""
    named = ""
    if response.status_code == 202 and case.operation.label.endswith("/selections"):
        named = json.loads(response.content)["id"]
        _own[named.partition("_")[0]].append(named)
    elif response.status_code == 204 and case.method == "DELETE":
        named = str(response.request.url).rpartition("/")[2]
    with (_folder / "journal").open("a") as file:
        file.write(f"{case.operation.label}\t{response.status_code}\t{named}\n")
