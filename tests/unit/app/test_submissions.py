"""What is done with a body as received."""

import json
from pathlib import Path

from app.selections.bodies import FormBody
from app.selections.submission import check_selection
from app.settings import Settings
from app.store.services import Services
from lens_engine.files import ParsedDataset
from tests.integration.samples import make_csv, make_spec

SETTINGS = Settings(_env_file=None)


class CountedBytes(bytes):
    """Counts how often it is decoded, and so how often it is parsed."""

    num_decoded = 0

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.num_decoded += 1
        return super().decode(encoding, errors)


def test_spec_of_a_form_is_parsed_once_also_with_a_key(tmp_path: Path) -> None:
    raw, file = CountedBytes(json.dumps(make_spec()).encode()), tmp_path / "data.csv"
    file.write_bytes(make_csv())
    body = FormBody(raw, {"dataset": file})

    digest = body.digest()
    found = check_selection(Services(SETTINGS, None, None), "local", body)  # type: ignore[arg-type]

    assert len(digest) == 64
    assert isinstance(found.dataset, ParsedDataset)
    assert len(found.dataset.examples) == 60
    assert raw.num_decoded == 1


def test_digest_tells_the_part_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(make_csv())
    assert FormBody(files={"dataset": file}).digest() != FormBody(files={"test": file}).digest()
