"""One API over real servers for all tests; workers are each test's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lens_cli.service.embedded import EmbeddedServers
from tests.e2e.processes import Process, status_at
from tests.e2e.scorers import HELD
from tests.e2e.service import clear, running_service
from tests.e2e.stack import Stack
from tests.e2e.waiting import until
from tests.endpoints.double import MODEL
from tests.ports import reserve_port
from tests.tiny_models import tiny_causal_lm


@pytest.fixture(scope="session")
def tiny_models() -> Sequence[str]:
    """Names of models with weights. A worker imports torch at its start to look at each, so there is none."""
    return ()


@pytest.fixture(scope="package")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a language model."""
    return tiny_causal_lm("llama").save(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="package")
def service(
    servers: EmbeddedServers, tmp_path_factory: pytest.TempPathFactory, tiny_models: Sequence[str]
) -> Iterator[Stack]:
    """The API, which ends with this ring of tests."""
    folder = tmp_path_factory.mktemp("service")
    for name in tiny_models:
        tiny_causal_lm("gpt2").save(folder / name)
    models = {
        HELD: "testing:tests.e2e.scorers:held",
        "broken": "testing:tests.e2e.scorers:broken",
        **{name: str(folder / name) for name in tiny_models},
    }
    served = {
        "kind": "vllm",
        "url": f"http://127.0.0.1:{reserve_port()}",
        "model": MODEL,
        "key_variable": "KEY_OF_SERVED",
        "most_requests": 2,
    }
    changes = {"queue_name": "e2e", "allowed_models": models, "endpoints": {"served": served}}
    with running_service(servers, folder, **changes) as running:
        yield running


@pytest.fixture
def lens(service: Stack) -> Iterator[Stack]:
    """The service with nothing queued; whatever the test leaves is cleared away after it."""
    yield service
    clear(service)


@pytest.fixture
def port() -> int:
    return reserve_port()


@pytest.fixture
def second_api(lens: Stack, port: int) -> Iterator[Process]:
    """An API process of the test's own, which drains for two seconds."""
    arguments = ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "2"]
    api = Process("second API", arguments, lens.environment, lens.log_dir / f"api-{port}.log")
    until(lambda: api.exit_status is not None or status_at(port, "/readyz") == 200, "the second API answers")
    yield api
    api.stop()
