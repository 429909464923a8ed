from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from dataset_uploads import FORMATS, Uploads

from lens_engine.task import language


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path)


@pytest.fixture(params=FORMATS)
def written_as(request: pytest.FixtureRequest) -> str:
    """Each format in turn."""
    return str(request.param)


_READ_ONCE = cache(language._read_model)


@pytest.fixture(scope="module", autouse=True)
def languages() -> Iterator[None]:
    """The model of languages is read once: half a second for each of thousands of odd files is too long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_read_model", _READ_ONCE)
        yield
