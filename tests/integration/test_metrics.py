"""/metrics: who may read it, what it counts, and that the rules of docs/alerts.yml can be computed from it."""

import hashlib
import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app.lifecycle.endings import ATTEMPTS, DEVICE_SECONDS, CounterKey, add_to_counters
from app.operations.metrics import ServiceState
from app.settings import Settings
from app.store.database import Database
from tests.api_keys import headers_of, make_keys
from tests.integration.conftest import MakeClient, Selections, transact
from worker.process import create_worker

ROOT = Path(__file__).parents[2]
KEY = "a key of the metrics"
HASHED = hashlib.sha256(KEY.encode()).hexdigest()
Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parse(text: str) -> Values:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read(client: TestClient) -> Values:
    response = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert response.status_code == 200, response.text
    return parse(response.text)


@pytest.fixture
def client(make_client: MakeClient) -> TestClient:
    return make_client(metrics_key_hash=HASHED)


def test_metrics_need_their_own_key(make_guarded: MakeClient) -> None:
    client = make_guarded("alice", metrics_key_hash=HASHED)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers=headers_of("alice")).status_code == 401
    assert client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
    assert client.get("/selections", headers={"Authorization": f"Bearer {KEY}"}).status_code == 401


@pytest.mark.parametrize(
    ("host", "require_keys", "status"),
    [("127.0.0.1", False, 200), ("::1", False, 200), ("10.0.0.9", False, 401), ("127.0.0.1", True, 401)],
)
def test_without_a_key_only_this_machine_reads_an_open_service(
    make_client: MakeClient, database: Database, host: str, require_keys: bool, status: int
) -> None:
    app = make_client(require_keys=require_keys, key_cache_seconds=0).app
    client = TestClient(app, base_url="http://localhost", client=(host, 5000))
    assert client.get("/metrics").status_code == status
    make_keys(database, "alice")
    assert client.get("/metrics").status_code == 401


def test_requests_are_counted_by_the_template_of_their_route(client: TestClient, selections: Selections) -> None:
    ids = [selections.queued() for _ in range(2)]
    for id_ in ids:
        assert client.get(f"/selections/{id_}").status_code == 200
    client.get("/selections/a-text-of-a-client")
    client.get("/a-text-of-a-client")
    client.request("FANTASY", "/selections")
    found = read(client)

    def count(method: str, route: str, status: str) -> float | None:
        labels = (("method", method), ("route", route), ("status", status))
        return found.get(("lens_http_requests_total", labels))

    assert count("GET", "/selections/{selection_id}", "200") == 2
    assert count("GET", "/selections/{selection_id}", "404") == 1
    assert count("GET", "(none)", "404") == 1
    assert {dict(labels)["method"] for name, labels in found if name == "lens_http_requests_total"} >= {"OTHER"}
    assert found["lens_refusals_total", (("code", "not-found"),)] == 2
    assert "a-text" not in str(found)
    assert not [id_ for id_ in ids if id_ in str(found)]


def test_refusals_of_middleware_are_counted(make_client: MakeClient) -> None:
    client = make_client(require_keys=True, metrics_key_hash=HASHED)
    client.get("/selections")
    client.post("/metrics", content=b"0" * 3_000_000)
    found = read(client)
    assert found["lens_refusals_total", (("code", "unauthorized"),)] == 1
    assert found["lens_refusals_total", (("code", "content-too-large"),)] == 1


def by_labels(found: Values, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(dict(has)[label] for label in labels): value for (metric, has), value in found.items() if metric == name
    }


def test_queue_and_selections_are_those_of_the_database(client: TestClient, selections: Selections) -> None:
    selections.queued()
    selections.queued()
    selections.running()
    selections.succeeded()
    selections.queued()
    found = read(client)
    assert by_labels(found, "lens_queue_depth", "queue") == {("lens",): 3}
    assert 0 < by_labels(found, "lens_queue_oldest_seconds", "queue")["lens",] < 300
    statuses = by_labels(found, "lens_jobs", "status")
    assert statuses == {
        ("queued",): 3,
        ("running",): 1,
        ("succeeded",): 1,
        ("failed",): 0,
        ("cancelled",): 0,
        ("cancelling",): 0,
    }
    assert (found["lens_database_up", ()], found["lens_redis_up", ()]) == (1, 1)


def test_queues_and_workers_are_told_apart(make_client: MakeClient, database: Database, settings: Settings) -> None:
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m"}
    client = make_client(endpoints={"served": endpoint}, metrics_key_hash=HASHED)
    Selections(client, database).queued(model="served")
    worker = create_worker(settings)
    worker.register_birth()  # type: ignore[no-untyped-call]
    found = read(client)
    worker.connection.close()
    assert by_labels(found, "lens_workers", "queue") == {("lens",): 1, ("lens-endpoints",): 0}
    depths = by_labels(found, "lens_queue_depth", "queue")
    assert (depths["lens-endpoints",], depths["lens",]) == (1, 0)


def test_stores_are_asked_once_for_many_scrapes(client: TestClient, selections: Selections) -> None:
    services = client.app.state.services  # type: ignore[attr-defined]
    now = 0.0
    state = ServiceState(services, clock=lambda: now)

    def depth() -> float:
        (metric,) = (metric for metric in state.collect() if metric.name == "lens_queue_depth")
        return sum(sample.value for sample in metric.samples)

    assert depth() == 0
    selections.queued()
    assert depth() == 0
    now = 6.0
    assert depth() == 1


def test_metrics_are_there_without_postgres_and_redis(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(
        database_url=f"postgresql://lens@/lens?host={tmp_path}",
        redis_url="redis://127.0.0.1:1/0",
        metrics_key_hash=HASHED,
    )
    found = read(client)
    assert (found["lens_database_up", ()], found["lens_redis_up", ()]) == (0, 0)
    assert not by_labels(found, "lens_queue_depth", "queue")


def test_counters_add_up(client: TestClient, database: Database) -> None:
    key = CounterKey(ATTEMPTS, "lost")
    for _ in range(2):
        transact(database, add_to_counters, {key: 1.5})
    assert read(client)["lens_attempts_total", (("outcome", "lost"),)] == 3.0


def test_every_metric_of_an_alert_exists(client: TestClient) -> None:
    client.get("/healthz")
    shown = {name for name, _ in read(client)}
    rules = yaml.safe_load((ROOT / "docs/alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 8
    for rule in rules:
        assert {"alert", "expr", "for", "labels", "annotations"} <= rule.keys()
        named = set(re.findall(r"\blens_[a-z_]+", rule["expr"]))
        assert named, rule
        assert named <= shown, rule


def test_labels_of_alerts_are_values_that_metrics_have(client: TestClient) -> None:
    client.get("/healthz")
    found = read(client)
    values = {value for _, labels in found for _, value in labels}
    text = (ROOT / "docs/alerts.yml").read_text("utf-8")
    exact = {value for name, value in re.findall(r'(\w+)="([^"]+)"', text) if name not in {"severity", "job"}}
    assert exact
    assert exact <= values


def test_every_alert_leads_to_its_lines_in_the_runbook() -> None:
    rules = yaml.safe_load((ROOT / "docs/alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    headings = re.findall(r"^## (\w+)$", (ROOT / "docs/runbook.md").read_text("utf-8"), re.MULTILINE)
    assert headings == [rule["alert"] for rule in rules]
    for rule in rules:
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_dashboard_shows_metrics_that_exist(client: TestClient, database: Database) -> None:
    transact(database, add_to_counters, {CounterKey(DEVICE_SECONDS, "us"): 1.0})
    client.get("/healthz")
    shown = {name for name, _ in read(client)}
    board = json.loads((ROOT / "docs/dashboard.json").read_text("utf-8"))
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels) > 10
    sources = {variable["name"] for variable in board["templating"]["list"]}
    for panel in panels:
        assert panel["datasource"]["uid"].strip("${}") in sources
        for target in panel["targets"]:
            named = set(re.findall(r"\b(?:lens|process)_[a-z_]+", target["expr"]))
            assert named, panel["title"]
            assert named <= shown, panel["title"]
