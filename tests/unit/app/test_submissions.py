"""What is done with a body as received."""

import io
import json
import tempfile
from collections.abc import Iterator
from typing import Never

import pytest

from app.intake.order import Desk
from app.intake.submissions import SMALL_BYTES, FormSubmission, JsonSubmission
from app.selections.order import SelectionOrder
from app.services import Services
from app.settings import Settings
from lens_engine.reading import ParsedDataset
from tests.integration.samples import make_csv, make_spec, make_submission

SETTINGS = Settings(_env_file=None)


class CountedBytes(bytes):
    """Counts how often it is decoded, and so how often it is parsed."""

    num_decoded = 0

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.num_decoded += 1
        return super().decode(encoding, errors)


class CountedBody(io.BytesIO):
    """A file of these bytes."""

    def __init__(self, raw: CountedBytes) -> None:
        super().__init__(raw)
        self.raw = raw

    def read(self, size: int | None = -1) -> bytes:
        assert size == -1
        return self.raw


def find_no_dataset(dataset_id: str, field: str) -> Never:
    raise AssertionError(f"{field} {dataset_id} was looked up")


@pytest.fixture(params=["json", "form"])
def received(request: pytest.FixtureRequest) -> Iterator[tuple[JsonSubmission | FormSubmission, CountedBytes]]:
    """A submission, and the bytes of its JSON."""
    if request.param == "json":
        raw = CountedBytes(json.dumps(make_submission()).encode())
        yield JsonSubmission(CountedBody(raw), SETTINGS.max_rows), raw
        return
    raw = CountedBytes(json.dumps(make_spec()).encode())
    with tempfile.TemporaryFile() as file:
        file.write(make_csv())
        yield FormSubmission(raw, file), raw


def test_json_is_parsed_once_also_with_a_key(received: tuple[JsonSubmission | FormSubmission, CountedBytes]) -> None:
    submission, raw = received

    digest = submission.digest()
    services = Services(SETTINGS, None, None)  # type: ignore[arg-type]
    valid = SelectionOrder().validate(submission, Desk(services, "local", find_no_dataset))

    assert len(digest) == 64
    assert isinstance(valid.dataset, ParsedDataset)
    assert len(valid.dataset.examples) == 60
    assert raw.num_decoded == 1


def test_what_may_take_long_is_large() -> None:
    small, named = json.dumps(make_submission()), json.dumps({"spec": make_spec(), "dataset_id": "ds_1"})
    bodies = {small: False, named: True, named.replace("_", "\\u005f"): True, small + " " * SMALL_BYTES: True}
    for body, is_large in bodies.items():
        assert JsonSubmission(io.BytesIO(body.encode()), SETTINGS.max_rows).is_large is is_large


@pytest.mark.parametrize(("stored_bytes", "is_large"), [(0, False), (SMALL_BYTES, False), (SMALL_BYTES + 1, True)])
def test_stored_dataset_is_large_by_its_bytes(stored_bytes: int, is_large: bool) -> None:
    body = json.dumps({"spec": make_spec(), "dataset_id": "ds_1"})
    submission = JsonSubmission(io.BytesIO(body.encode()), SETTINGS.max_rows, stored_bytes)
    assert submission.depends_on_datasets
    assert submission.is_large is is_large
    padded = JsonSubmission(io.BytesIO(body.encode() + b" " * SMALL_BYTES), SETTINGS.max_rows, stored_bytes)
    assert (padded.depends_on_datasets, padded.is_large) == (False, True)


def test_ids_that_a_body_may_hide_are_not_weighed() -> None:
    body = json.dumps({"spec": make_spec(), "dataset_id": "ds_1"}).replace("_1", "\\u005f1")
    submission = JsonSubmission(io.BytesIO(body.encode()), SETTINGS.max_rows)
    assert (submission.depends_on_datasets, submission.is_large) == (False, True)


def test_form_is_large_by_its_bytes() -> None:
    spec = json.dumps(make_spec()).encode()
    csv = io.BytesIO(make_csv())
    assert not FormSubmission(spec, csv, csv).is_large
    assert FormSubmission(spec + b" " * SMALL_BYTES, csv, None).is_large
