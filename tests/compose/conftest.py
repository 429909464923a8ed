"""One deployment for all tests of this ring, which follow each other as in the life of a service."""

import re
from collections.abc import Iterator

import pytest

from tests.compose.deployment import PROJECT, Deployment, find_engine_fault
from tests.ports import reserve_port


@pytest.fixture(scope="session")
def lens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The service, built and started, with a key."""
    fault = find_engine_fault()
    if fault is not None:
        pytest.skip(f"no Docker engine with Compose: {fault}")
    made = Deployment.write(tmp_path_factory.mktemp(PROJECT), reserve_port())
    made.remove()  # what a run that was cut off has left
    try:
        made.up("--build")
        made.key = make_key(made)
        yield made
    finally:
        made.remove()


def make_key(lens: Deployment) -> str:
    """As docs/operations.md says."""
    printed = lens.do("docker compose exec -T api lens keys create alice --name laptop")
    found = re.search(r"lens_[0-9a-f]{64}", printed)
    assert found is not None, printed
    return found[0]
