"""The demonstration as curl commands, for a shell in a checkout with `lens up` running."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

_URL = "http://127.0.0.1:8000"


def list_curl_lines(spec: Mapping[str, Any], text: str, url: str = _URL) -> list[str]:
    """Submit, look, read the support examples, fetch the classifier, render a prompt."""
    body = shlex.quote(json.dumps({"input": text, "prompts": "support_examples"}))
    return [
        submission_line(spec, url),
        f"curl -sS {url}/selections/SELECTION_ID",
        f"curl -sS {url}/selections/SELECTION_ID/support-examples",
        f"curl -sS {url}/selections/SELECTION_ID/classifier -o classifier.json",
        f"curl -sS {url}/selections/SELECTION_ID/render -H 'Content-Type: application/json' -d {body}",
    ]


def submission_line(spec: Mapping[str, Any], url: str = _URL) -> str:
    """The POST of the sample dataset."""
    form = shlex.quote(f"spec={json.dumps(spec, ensure_ascii=False)}")
    return (
        f"curl -sS {url}/selections -F dataset=@examples/support_desk/train.csv "
        f"-F test=@examples/support_desk/test.csv -F {form}"
    )
