"""The page on the metrics, from the collectors of the API and of a worker."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import CollectorRegistry, Metric

from app.main import create_app
from app.metrics.process_state import ProcessMetrics, SweepMetrics
from app.metrics.service_state import ServiceState
from app.services import Services
from app.settings import Settings
from app.web.access_log import RequestMetrics
from docs.site.tables import make_cell, make_table
from worker.device import Device
from worker.monitoring import WorkerMetrics

_OF_A_PROCESS = ("lens_database_up", "lens_redis_up", "lens_spool_free_bytes")
"""What `ServiceState` shows of the process that is asked."""


class _NoRows(list[Any]):
    """The answer of an empty database."""

    def all(self) -> list[Any]:
        return self

    def one(self) -> tuple[int, None]:
        return 0, None


def write_metrics() -> str:
    """A table for each place at which numbers are read."""
    service = list(_read_service())
    process = [*_read_process(), *(metric for metric in service if metric.name in _OF_A_PROCESS)]
    parts = {
        "Of one API process": process,
        "Of the whole service, by each API process": [one for one in service if one not in process],
        "Of one worker": WorkerMetrics(Device("cpu", "cpu")).registry.collect(),
    }
    lines = [line for title, found in parts.items() for line in (f"## {title}", "", *_describe(found), "")]
    return "\n".join(
        ["# Metrics", "", "[Operations](../docs/operations.md#metrics) says how to read them.", "", *lines]
    )


def _describe(found: Iterable[Metric]) -> list[str]:
    rows = [
        [f"`{metric.name}{'_total' if metric.type == 'counter' else ''}`", metric.type, make_cell(metric.documentation)]
        for metric in found
        if metric.name.startswith("lens_")
    ]
    return make_table(["Metric", "Type", "Meaning"], rows)


def _read_process() -> Iterable[Metric]:
    """What an API process counts itself."""
    state, registry = create_app(Settings(_env_file=None)).state, CollectorRegistry()
    RequestMetrics(registry)
    SweepMetrics(registry)
    ProcessMetrics(registry, state.services, state.admission)
    return registry.collect()


def _read_service() -> Iterable[Metric]:
    """The metrics of a service with empty stores."""
    settings = Settings(_env_file=None)
    database = SimpleNamespace(session_scope=_open_empty)
    queue = SimpleNamespace(find_workers=lambda: dict.fromkeys(settings.queues, 0))
    services = SimpleNamespace(database=database, queue=queue, settings=settings)
    return ServiceState(cast(Services, services)).collect()


@contextmanager
def _open_empty() -> Iterator[Any]:
    yield SimpleNamespace(execute=lambda _: _NoRows(), scalar=lambda _: 0)
