"""The service of the e2e ring, with a model that has weights."""

from collections.abc import Sequence

import pytest

from tests.e2e.conftest import lens, port, second_api, service  # noqa: F401


@pytest.fixture(scope="session")
def tiny_models() -> Sequence[str]:
    return ("tiny",)
