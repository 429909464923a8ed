"""The life of a deployment, with the faults in it. Each test leaves the service as it found it."""

import os
import re
from collections.abc import Iterator

import pytest

from app.errors import TITLES
from app.store.tables import Status
from app.web.openapi import Problem
from tests.compose.composition import commands_of
from tests.compose.conftest import make_key
from tests.compose.deployment import ENDPOINTS, UP_SECONDS, Deployment
from tests.e2e.scorers import HELD
from tests.e2e.stack import IN_THE_SEARCH, make_submission
from tests.e2e.waiting import until

pytestmark = pytest.mark.timeout(1800)

STOP_ENGINE, START_ENGINE = "COMPOSE_STOP_ENGINE", "COMPOSE_START_ENGINE"
KILL_CHILD = "read worker _ </proc/1/task/1/children; read child _ </proc/$worker/task/$worker/children; kill -9 $child"


@pytest.fixture(scope="session")
def digest(lens: Deployment) -> str:
    """Of the result of a run to which nothing happened."""
    selection = lens.wait_until_done(lens.submit(make_submission(model=HELD)))
    assert selection["status"] == Status.SUCCEEDED, selection
    return str(selection["digest"])


@pytest.fixture
def held_id(lens: Deployment, digest: str) -> Iterator[str]:
    """A selection that waits in its search."""
    del digest  # of a run before, which must not wait
    lens.hold_from(IN_THE_SEARCH)
    try:
        selection_id = lens.submit(make_submission(model=HELD))
        lens.wait_until_held(selection_id, attempt=1)
        yield selection_id
    finally:
        lens.let_go()


def check_result(lens: Deployment, selection_id: str, digest: str) -> None:
    lens.let_go()
    selection = lens.wait_until_done(selection_id)
    assert (selection["status"], selection["digest"]) == (Status.SUCCEEDED, digest)


def test_service_that_is_up_replaces_no_container_when_it_is_started_again(lens: Deployment) -> None:
    before = lens.containers()
    for options in ("--build", "--build", ""):
        lens.up(options)
        assert lens.containers() == before, options


def test_change_of_the_source_installs_no_requirement(lens: Deployment) -> None:
    images = ("api", "worker-cpu")
    before = {image: lens.layers(image) for image in images}
    source = lens.folder / "worker" / "__init__.py"
    source.write_text(source.read_text("utf-8") + "# A change.\n", "utf-8")

    lens.up("--build")

    for image in images:
        layers = lens.layers(image)
        assert layers[:-1] == before[image][:-1], image
        assert layers[-1] != before[image][-1], image


def test_killed_child_and_killed_worker_cost_no_result(lens: Deployment, held_id: str, digest: str) -> None:
    lens.do(f"docker compose exec -T worker sh -c '{KILL_CHILD}'")
    lens.wait_until_held(held_id, attempt=2)
    lens.do("docker compose kill worker")
    lens.up("worker")
    lens.wait_until_held(held_id, attempt=3)

    check_result(lens, held_id, digest)
    assert lens.crashes(held_id) == 2


def test_killed_stores_and_a_killed_api_cost_no_attempt(lens: Deployment, held_id: str, digest: str) -> None:
    for service in ("postgres", "redis", "api"):
        lens.do(f"docker compose kill {service}")
        lens.up(service)

    check_result(lens, held_id, digest)
    assert lens.crashes(held_id) == 0


def test_proxy_answers_with_a_problem_while_the_api_is_away(lens: Deployment) -> None:
    lens.do("docker compose stop api")
    answer = lens.ask("GET", "/selections?limit=1")
    log = lens.do("docker compose logs --no-color proxy")
    lens.up()

    found = Problem.model_validate(answer.json())
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert (found.code, found.title, found.instance) == ("unavailable", TITLES["unavailable"], "/selections")
    assert answer.headers["Retry-After"] == "5"
    assert "limit=1" not in log, "an error of the proxy has the query, which may hold a text"
    assert lens.ask("GET", "/selections").status_code == 200


def test_proxy_logs_requests_but_neither_query_nor_health_check(lens: Deployment) -> None:
    def log() -> str:
        return lens.do("docker compose logs --no-color proxy")

    def logged() -> list[str]:
        return re.findall(r'"GET ([^\s"]+)[^"]*" \d+ ', log())

    address = "/selections/logged/support-examples"
    lens.ask("GET", f"{address}?input=private")
    until(lambda: any(path.startswith(address) for path in logged()), "the request is logged")
    assert "private" not in log()
    assert not any(path.startswith("/healthz") for path in logged())


def test_scaled_services_share_the_work(lens: Deployment) -> None:
    lens.up("--scale api=2", "--scale worker=2")
    statuses = {lens.ask("GET", "/selections").status_code for _ in range(8)}
    lens.up("--scale api=1", "--scale worker=1")

    assert statuses == {200}
    assert set(lens.containers()) == {"postgres", "redis", "api", "proxy", "answers", "worker"}


def test_endpoint_worker_without_its_key_fails_up_and_starts_with_it(lens: Deployment) -> None:
    up = f"docker compose up --detach --build --no-deps --wait --wait-timeout {UP_SECONDS} endpoint-worker"
    with lens.settings(ENDPOINTS):
        refused = lens.shell(up)
        said = lens.logs("endpoint-worker")
        lens.do("echo OUR_KEY=x > endpoint-keys.env")
        lens.do(up)
        lens.do("docker compose rm --stop --force endpoint-worker")

    assert refused.returncode == 1, refused.stderr
    assert "the environment variable OUR_KEY" in said


def test_backup_comes_back_on_a_new_machine_and_into_the_living_database(lens: Deployment, digest: str) -> None:
    ids = {selection["id"] for selection in lens.ask("GET", "/selections").json()["items"]}
    with lens.settings(ENDPOINTS):
        lens.do("echo OUR_KEY=x > endpoint-keys.env")
        lens.do(commands_of("Back up"))

        lens.do("docker compose down --volumes")
        lens.do(commands_of("Restore on a new machine"))
        assert {it["id"] for it in lens.ask("GET", "/selections").json()["items"]} == ids

        check_result(lens, lens.submit(make_submission(model=HELD)), digest)
        stop, command, restore = commands_of("Restore in place").partition("docker compose exec")
        lens.do(stop)
        assert lens.running() == {"postgres"}
        lens.do(command + restore)
        assert {it["id"] for it in lens.ask("GET", "/selections").json()["items"]} == ids
        assert lens.running() == {"postgres", "redis", "api", "proxy", "answers", "worker", "endpoint-worker"}
        make_key(lens)
        lens.do("docker compose rm --stop --force endpoint-worker")
    lens.up()


@pytest.mark.skipif(
    not (os.environ.get(STOP_ENGINE) and os.environ.get(START_ENGINE)),
    reason=f"stops the engine only where {STOP_ENGINE} and {START_ENGINE} have the commands that stop and start it",
)
def test_stopped_engine_costs_one_attempt_at_most(lens: Deployment, held_id: str, digest: str) -> None:
    lens.do(os.environ[STOP_ENGINE])
    lens.do(os.environ[START_ENGINE])
    lens.up()

    check_result(lens, held_id, digest)
    assert lens.crashes(held_id) <= 1


def test_selection_with_the_bundled_model_ends_with_support_examples(lens: Deployment) -> None:
    selection_id = lens.submit(make_submission(model="smollm2-135m-instruct"))

    assert lens.wait_until_done(selection_id)["status"] == Status.SUCCEEDED
    assert lens.ask("GET", f"/selections/{selection_id}/support-examples").status_code == 200
    assert lens.crashes(selection_id) == 0


def test_down_leaves_the_data_and_nothing_else(lens: Deployment) -> None:
    with lens.settings(ENDPOINTS):
        lens.do("docker compose up --detach --no-deps endpoint-worker")
        lens.do(commands_of("Take the service down"))
    label = "--filter label=com.docker.compose.project=lens-ring"
    assert lens.do(f"docker ps --all --quiet {label}; docker network ls --quiet {label}") == ""
    assert len(lens.do(f"docker volume ls --quiet {label}").split()) == 3
