from pathlib import Path

import pytest
from dataset_uploads import FORMATS, Uploads


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path)


@pytest.fixture(params=FORMATS)
def written_as(request: pytest.FixtureRequest) -> str:
    """Each format in turn."""
    return str(request.param)
