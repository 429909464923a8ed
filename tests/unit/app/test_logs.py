import json
import logging
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import IntegrityError

from app.ids import decode_cursor
from app.logs import LogFormat, begin_context, describe, make_formatter, summarize
from lens_engine.errors import InvalidDataset

ROOT = Path(__file__).parents[3]
SECRET = "a text of a client"


class Number(BaseModel):
    value: int


class RefusedRow(Exception):
    sqlstate = "23514"


def error_of(act: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each caller names the error
        act()
    return caught.value


def line_of(message: str, *values: object, log_format: LogFormat = "json", **record: Any) -> str:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(make_formatter(log_format, stream))
    logger = logging.getLogger("app.tests_of_logs")
    logger.addHandler(handler)
    try:
        logger.error(message, *values, **record)
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def no_fields() -> None:
    begin_context()


def test_line_is_json_with_the_fields_of_event_and_context() -> None:
    begin_context(request_id="r1", owner="alice")
    line = json.loads(line_of("%s waits", "sel_1", extra={"action": "wait", "selection_id": "sel_1"}))
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "sel_1 waits",
        "level": "error",
        "logger": "app.tests_of_logs",
        "action": "wait",
        "selection_id": "sel_1",
        "request_id": "r1",
        "owner": "alice",
    }


def test_next_request_has_no_field_of_the_one_before() -> None:
    begin_context(request_id="r1", owner="alice")
    begin_context(request_id="r2")
    line = json.loads(line_of("x"))
    assert (line["request_id"], "owner" in line) == ("r2", False)


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_error_is_its_class_and_our_frames_without_its_message(log_format: LogFormat) -> None:
    error = error_of(lambda: decode_cursor(f"{SECRET} \N{SNOWMAN}"))
    line = line_of("failed", exc_info=error, log_format=log_format)
    assert SECRET not in line
    assert "ValueError" in line
    assert "app/ids.py:" in line
    assert "site-packages" not in line


def test_causes_are_shown_without_their_messages() -> None:
    refused = error_of(lambda: Number.model_validate({"value": SECRET}))
    assert isinstance(refused, ValidationError)
    assert SECRET in str(refused)
    error = RuntimeError(SECRET)
    error.__cause__ = refused
    assert describe(error) == "RuntimeError\ncaused by ValidationError"


def test_errors_are_named_by_sqlstate_code_and_row() -> None:
    by_postgres = IntegrityError("INSERT", None, RefusedRow(f"Failing row contains ({SECRET})"))
    assert summarize(by_postgres) == "IntegrityError (SQLSTATE 23514)"
    by_engine = InvalidDataset(f"{SECRET} has no tokens", field=f"verbalizer.{SECRET}", row=7)
    assert summarize(by_engine) == "InvalidDataset (invalid-dataset, row 7)"


def test_traceback_inside_a_message_is_cut() -> None:
    line = json.loads(line_of("job failed\nTraceback (most recent call last):\n  ...\nValueError: %s", SECRET))
    assert line["event"] == "job failed (traceback left out)"


def run(code: str) -> subprocess.CompletedProcess[str]:
    head = "import logging\nfrom app.logs import configure_logging\nconfigure_logging('DEBUG', 'json')\n"
    return subprocess.run(
        [sys.executable, "-c", head + code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_errors_that_nobody_catches_are_logged_without_their_message() -> None:
    done = run(
        f"import threading\ndef fail(): raise RuntimeError('{SECRET}')\nthreading.Thread(target=fail).start()\nfail()"
    )
    assert done.returncode == 1
    assert SECRET not in done.stdout + done.stderr
    events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
    assert sorted(events)[0] == "the process ends by RuntimeError"
    assert sorted(events)[1].endswith("ends by RuntimeError")


def test_loggers_of_libraries_write_the_same_lines_and_no_details() -> None:
    names = ["uvicorn.error", "rq.worker", "alembic.runtime.migration", "python_multipart.multipart"]
    done = run(
        f"for name in {names}:\n    logging.getLogger(name).info('x')\n    logging.getLogger(name).debug('{SECRET}')"
    )
    assert [json.loads(line)["logger"] for line in done.stderr.splitlines()] == names
    assert SECRET not in done.stderr
    own = run("logging.getLogger('app.store.queue').debug('x')")
    assert json.loads(own.stderr)["level"] == "debug"
