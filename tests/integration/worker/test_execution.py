"""How a run ends, and what becomes of its selection."""

import logging
from datetime import timedelta

import pytest
from rq.timeouts import JobTimeoutException, UnixSignalDeathPenalty
from sqlalchemy.orm import Session

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim, PackedCheckpoint
from app.settings import Settings
from app.store.database import Database
from lens_engine.classifier.classifier import Classifier
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.testing import TableScorer
from lens_engine.types import Phase
from tests.integration.conftest import Selections, execute_job, run_sql
from tests.integration.samples import make_result
from tests.integration.worker.doubles import LivingScorer
from worker.faults import WorkerFault
from worker.jobs import Attempt, Ending


def with_double(settings: Settings, double: str) -> Settings:
    reference = f"testing:tests.integration.worker.doubles:{double}"
    return settings.model_copy(update={"allowed_models": {settings.default_model: reference}})


def run_with(settings: Settings, double: str, selection_id: str) -> None:
    execute_job(selection_id, with_double(settings, double))


def end_the_wait(database: Database) -> None:
    run_sql(database, "UPDATE jobs SET not_before = now()")


def test_a_run_that_completes_stores_the_classifier_of_its_result(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings, "sound", selection_id)

    result = selections.client.get(f"/selections/{selection_id}/result").json()
    del result["selection_id"], result["pool_rows"]
    expected = SelectionResult.model_validate(result).classifier
    assert expected is not None
    stored = selections.client.get(f"/selections/{selection_id}/classifier").content
    classifier = Classifier.model_validate_json(stored)
    assert classifier == expected
    assert set(classifier.predict(["a warm film"], TableScorer()).labels) <= {"positive", "negative"}
    told = {"head": expected.head.kind, "accuracy": expected.quality and expected.quality.accuracy}
    assert selections.events_of(selection_id, "classifier") == [told]
    assert result["provenance"]["device_name"] is None


def test_a_result_names_the_gpu_that_computed_it(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings, "on_gpu", selection_id)

    result = selections.client.get(f"/selections/{selection_id}/result").json()
    assert result["provenance"]["device_name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("double", "code", "places"),
    [
        ("narrow", "prompt-too-long", ["/spec/template"]),
        ("unsteady", "non-finite", []),
        ("hungry", "out-of-memory", []),
    ],
)
def test_an_error_that_would_come_again_fails_the_selection_at_once(
    selections: Selections, settings: Settings, double: str, code: str, places: list[str]
) -> None:
    selection_id = selections.queued()

    run_with(settings, double, selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["attempt"]) == ("failed", 1)
    assert selection["error"]["code"] == code
    pointers = [error["pointer"] for error in selection["error"]["errors"]]
    assert [found.startswith(place) for found, place in zip(pointers, places, strict=True)] == [True] * len(places)


def test_a_run_that_the_time_limit_cuts_off_keeps_its_best(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings, "late", selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["partial"], selection["stop_reason"]) == ("succeeded", True, "budget")
    result = selections.client.get(f"/selections/{selection_id}/result").json()
    assert "the run did not end within the service's time limit" in result["warnings"][-1]


def test_run_without_budget_ends_before_its_limit_with_its_best(
    selections: Selections, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.jobs._RESERVE_SHARE", 0.5)  # a tenth of so short a limit is lost on a busy machine
    selection_id = selections.queued()

    with UnixSignalDeathPenalty(16, JobTimeoutException):
        run_with(settings.model_copy(update={"job_timeout_seconds": 16}), "slow", selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["partial"], selection["stop_reason"]) == ("succeeded", True, "budget")
    result = selections.client.get(f"/selections/{selection_id}/result").json()
    assert all(one["judged"]["n"] for one in result["support_examples"])
    assert any(warning.startswith("the operator's time limit for a run") for warning in result["warnings"])
    assert result["provenance"]["config"]["budget"] == {"max_pairs": None, "max_seconds": None, "max_cost": None}


def test_run_with_no_time_for_a_choice_ends_with_a_bag_of_words(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings.model_copy(update={"job_timeout_seconds": 0}), "sound", selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["partial"], selection["stop_reason"]) == ("succeeded", True, "budget")
    result = selections.client.get(f"/selections/{selection_id}/result").json()
    assert [one["name"] for one in result["tested"]] == ["bag_of_words", "embeddings"]
    assert "Partial: a limit was reached" in result["verdict"]["sentence"]
    assert any(warning.startswith("the operator's time limit for a run") for warning in result["warnings"])


def test_a_model_that_is_no_longer_allowed_fails_the_selection(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    execute_job(selection_id, settings.model_copy(update={"allowed_models": {"other": "other"}}))

    assert selections.client.get(f"/selections/{selection_id}").json()["error"]["type"].endswith("#unknown-model")


@pytest.mark.parametrize(
    ("double", "code"),
    [
        ("unreadable", "unreadable-model"),
        ("without_room", "model-not-loaded"),
        ("without_gpu", "model-not-loaded"),
        ("out_of_gpu_memory", "model-not-loaded"),
        ("losing_its_gpu", "device-failed"),
        ("losing_its_model", "unreadable-model"),
    ],
)
def test_worker_fault_leaves_it_to_another(selections: Selections, settings: Settings, double: str, code: str) -> None:
    selection_id = selections.queued()

    with pytest.raises(WorkerFault):
        run_with(settings, double, selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["error"]) == ("queued", None)
    assert selections.sql("SELECT crashes FROM jobs WHERE id = :id", id=selection_id) == 1
    assert selections.sql("SELECT not_before > now() FROM jobs WHERE id = :id", id=selection_id)
    assert selections.events_of(selection_id, "worker-unfit") == [{"code": code, "attempt": 1}]


class Unlucky(Attempt):
    """Postgres is away for the first last write."""

    is_away = True

    def _end_soon(self, ending: Ending) -> bool:
        was_away, self.is_away = self.is_away, False
        return not was_away and super()._end_soon(ending)


def test_fault_of_the_worker_counts_as_one_though_postgres_was_away(selections: Selections, settings: Settings) -> None:
    claim = selections.running()

    with pytest.raises(WorkerFault):
        Unlucky(selections.database, claim, with_double(settings, "without_gpu")).run()

    assert selections.status_of(claim.job_id) == "queued"
    assert selections.events_of(claim.job_id, "worker-unfit") == [{"code": "model-not-loaded", "attempt": 1}]


def test_absent_server_costs_no_attempt_and_the_worker_nothing(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()
    doubles = ["leaving", *["absent"] * settings.max_attempts]
    waits = []

    for double in doubles:
        run_with(settings, double, selection_id)
        waits.append(selections.sql("SELECT not_before - queued_at FROM jobs WHERE id = :id", id=selection_id))
        end_the_wait(selections.database)

    assert selections.status_of(selection_id) == "queued"
    assert selections.sql("SELECT crashes FROM jobs WHERE id = :id", id=selection_id) == 0
    assert waits == [timedelta(seconds=settings.retry_backoff_seconds * 2**n) for n in range(len(doubles))]
    details = [event["detail"] for event in selections.events_of(selection_id, "endpoint-away")]
    assert [detail.endswith("does not answer: 503, after 8 attempts") for detail in details] == [True, *[False] * 3]

    run_with(settings, "sound", selection_id)
    assert selections.status_of(selection_id) == "succeeded"


def test_model_moved_to_a_server_is_left_to_the_workers_that_ask_it(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()
    endpoint = {settings.default_model: {"kind": "vllm", "url": "http://127.0.0.1:1", "model": "m"}}
    changes = {"endpoints": endpoint, "allowed_models": {"other": "other"}}

    execute_job(selection_id, Settings.model_validate({**settings.model_dump(), **changes}))

    assert selections.status_of(selection_id) == "queued"
    assert selections.sql("SELECT crashes FROM jobs") == 0
    [event] = selections.events_of(selection_id, "model-moved")
    assert event["detail"].endswith(f"moved to the workers of the queue {settings.queue_name}-endpoints")


def test_a_selection_that_was_stopped_or_lost_its_gpu_resumes_from_its_checkpoint(
    selections: Selections, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    lost_id, stopped_id, other_id = (selections.queued() for _ in range(3))
    with pytest.raises(WorkerFault):
        run_with(settings, "losing_its_gpu", lost_id)
    end_the_wait(selections.database)
    run_with(settings, "interrupted", stopped_id)
    assert selections.status_of(stopped_id) == "queued"
    assert selections.sql("SELECT crashes FROM jobs WHERE id = :id", id=stopped_id) == 0

    with caplog.at_level(logging.INFO, "worker.jobs"):
        for selection_id in (lost_id, stopped_id, other_id):
            run_with(settings, "sound", selection_id)

    lost, stopped, other = (
        selections.client.get(f"/selections/{id_}").json() for id_ in (lost_id, stopped_id, other_id)
    )
    for resumed in (lost, stopped):
        assert (resumed["status"], resumed["attempt"]) == ("succeeded", 2)
        assert resumed["digest"] == other["digest"]
        assert f"{resumed['id']}: resumes after step" in caplog.text


def test_selection_that_meets_unfit_workers_alone_fails_at_last(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()
    for _ in range(settings.max_attempts):
        with pytest.raises(WorkerFault):
            run_with(settings, "losing_its_gpu", selection_id)
        end_the_wait(selections.database)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["attempt"]) == ("failed", 3)
    assert selection["error"]["code"] == "worker-unfit"
    assert "device-failed" in selection["error"]["detail"]
    assert "illegal memory access" not in selection["error"]["detail"]
    assert selections.sql("SELECT count(*) FROM checkpoints WHERE job_id = :id", id=selection_id) == 0


def test_a_fault_of_ours_is_counted_and_not_hidden(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    with pytest.raises(RuntimeError, match="a fault of ours"):
        run_with(settings, "faulty", selection_id)

    assert selections.status_of(selection_id) == "queued"
    assert selections.sql("SELECT crashes FROM jobs") == 1


def test_a_run_without_a_heartbeat_writes_no_result_and_is_queued_again(
    selections: Selections, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    claim = selections.running()
    attempt = Attempt(selections.database, claim, with_double(settings, "sound"))
    attempt._monitor.lose()  # as a heartbeat does that ends by an error

    with caplog.at_level(logging.INFO, "worker.jobs"):
        attempt.run()

    assert "writes nothing: the claim is lost" in caplog.text
    assert selections.status_of(claim.job_id) == "queued"


def test_time_limit_that_ends_during_the_last_write_costs_no_result(selections: Selections, settings: Settings) -> None:
    claim = selections.running()
    late = [JobTimeoutException("too long")]

    def end(session: Session, claim: Claim) -> bool:
        if late:
            raise late.pop()
        return endings.finish(session, claim, make_result())

    assert Attempt(selections.database, claim, settings)._persist(end)

    assert selections.status_of(claim.job_id) == "succeeded"


def test_a_damaged_checkpoint_is_dropped_and_reported(selections: Selections, settings: Settings) -> None:
    selection_id = _released_with_checkpoint(selections, selections.database)
    selections.sql("UPDATE checkpoints SET data = :data", data=b"torn")

    run_with(settings, "sound", selection_id)

    assert selections.status_of(selection_id) == "succeeded"
    assert selections.sql("SELECT count(*) FROM events WHERE type = 'checkpoint-damaged'") == 1


def test_a_foreign_checkpoint_never_has_two_models_loaded(selections: Selections, settings: Settings) -> None:
    selection_id = _released_with_checkpoint(selections, selections.database)
    LivingScorer.loaded = LivingScorer.most_at_once = 0

    run_with(settings.model_copy(update={"dtype": "auto"}), "living", selection_id)

    assert selections.status_of(selection_id) == "succeeded"
    assert (LivingScorer.loaded, LivingScorer.most_at_once) == (2, 1)


def test_checkpoint_of_another_device_is_dropped_before_a_load(selections: Selections, settings: Settings) -> None:
    selection_id, other_id = selections.queued(), selections.queued()
    run_with(settings, "interrupted_on_gpu", selection_id)
    on_processor = settings.model_copy(update={"device": "cpu"})
    LivingScorer.loaded = 0

    run_with(on_processor, "living", selection_id)
    run_with(on_processor, "sound", other_id)

    anew, undisturbed = (selections.client.get(f"/selections/{id_}").json() for id_ in (selection_id, other_id))
    assert (anew["status"], anew["digest"], LivingScorer.loaded) == ("succeeded", undisturbed["digest"], 1)
    [dropped] = selections.events_of(selection_id, "checkpoint-foreign")
    assert dropped["detail"] == "the checkpoint was computed on cuda, and this worker computes on cpu"


def _released_with_checkpoint(selections: Selections, database: Database) -> str:
    claim = selections.running()
    foreign = Checkpoint(fingerprint="of another run", phase=Phase.FILTER, step=1, dtype="float32", device="cpu")
    with database.session_scope() as session:
        assert claims.save_checkpoint(session, claim, PackedCheckpoint.of(foreign))
        assert endings.requeue(session, claim)
    return claim.job_id
