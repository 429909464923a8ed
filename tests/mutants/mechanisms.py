"""The mechanisms that keep selections from being lost, stuck or run twice, and the tests that miss each."""

from tests.mutants.mutation import Mutation

_CLAIMS = "app/selections/claims.py"
_SWEEP = "app/selections/sweep.py"
_QUEUE = "app/queue.py"
_HEARTBEAT = "worker/heartbeat.py"
_PROCESS = "worker/process.py"
_INTAKE = "app/selections/intake.py"
_READER = "app/selections/reader.py"
_IN_CLAIMS = "tests/integration/test_claims.py"
_IN_SWEEP = "tests/integration/test_sweep.py"
_IN_HEARTBEAT = "tests/integration/worker/test_heartbeat.py"
_IN_PROCESS = "tests/unit/worker/test_process.py"
_IN_CRASHES = "tests/e2e/test_crashes.py"
_IN_STOPPING = "tests/e2e/test_stopping.py"
_IN_LARGE_UPLOADS = "tests/e2e/test_large_uploads.py"

MUTATIONS = (
    Mutation(
        mechanism="claim: only what is queued",
        path=_CLAIMS,
        old="            Selection.status == Status.QUEUED,\n            Selection.not_before <= func.now(),\n",
        new="            Selection.not_before <= func.now(),\n",
        tests=(f"{_IN_CLAIMS}::test_only_queued_selection_can_be_claimed",),
    ),
    Mutation(
        mechanism="claim: not before the backoff",
        path=_CLAIMS,
        old="            Selection.not_before <= func.now(),\n",
        new="",
        tests=(f"{_IN_CLAIMS}::test_claim_waits_for_the_backoff",),
    ),
    Mutation(
        mechanism="fence: the attempt",
        path=_CLAIMS,
        old="        Selection.attempt == claim.attempt,\n",
        new="",
        tests=(f"{_IN_CLAIMS}::test_zombie_writes_nothing",),
    ),
    Mutation(
        mechanism="fence: the status",
        path=_CLAIMS,
        old="        Selection.status.in_([status.value for status in LEASED]),\n    )\n\n\ndef _fenced",
        new="    )\n\n\ndef _fenced",
        tests=(f"{_IN_CLAIMS}::test_nobody_writes_to_what_nobody_holds",),
    ),
    Mutation(
        mechanism="heartbeat: the thread",
        path=_HEARTBEAT,
        old="        self._thread.start()\n",
        new="        pass\n",
        tests=(f"{_IN_HEARTBEAT}::test_lease_is_renewed_without_news",),
    ),
    Mutation(
        mechanism="heartbeat: a lost lease stops the run",
        path=_HEARTBEAT,
        old="            self._monitor.lose()\n        elif lease",
        new="            pass\n        elif lease",
        tests=(f"{_IN_HEARTBEAT}::test_run_taken_over_stops_and_writes_nothing",),
    ),
    Mutation(
        mechanism="heartbeat: a deaf run is killed",
        path=_HEARTBEAT,
        old="        if not self._stopping.wait(self._rhythm.stop_grace):\n",
        new="        if False:\n",
        tests=("tests/integration/worker/test_heartbeat_kills.py",),
    ),
    Mutation(
        mechanism="heartbeat: a stalled run is killed",
        path=_HEARTBEAT,
        old="        if self._monitor.idle_seconds > limit:\n",
        new="        if False:\n",
        tests=("tests/integration/worker/test_heartbeat_kills.py",),
    ),
    Mutation(
        mechanism="sweep: rescue of expired leases",
        path=_SWEEP,
        old="    rescued = _rescue_all(database, settings) if has_settled else []\n",
        new="    rescued: list[_Rescued] = []\n",
        tests=(f"{_IN_SWEEP}::test_sweep_moves_exactly_the_dead",),
    ),
    Mutation(
        mechanism="sweep: patience after an outage",
        path=_SWEEP,
        old=" and not outages.is_recent(settings.lease_seconds)\n",
        new="\n",
        tests=(f"{_IN_SWEEP}::test_leases_are_spared_until_a_lease_after_an_outage",),
    ),
    Mutation(
        mechanism="sweep: one at a time",
        path=_SWEEP,
        old="    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_LOCK_KEY))))\n",
        new="    return True\n",
        tests=(f"{_IN_SWEEP}::test_only_one_sweeps_at_a_time",),
    ),
    Mutation(
        mechanism="sweep: a savepoint for each row",
        path=_SWEEP,
        old="        with session.begin_nested():\n            return _rescue(",
        new="        if True:\n            return _rescue(",
        tests=(f"{_IN_SWEEP}::test_broken_row_keeps_no_other_from_its_rescue",),
    ),
    Mutation(
        mechanism="sweep: rows that are being written are left",
        path=_SWEEP,
        old="with_for_update(skip_locked=True)",
        new="with_for_update(nowait=True)",
        tests=(f"{_IN_SWEEP}::test_row_that_a_worker_is_writing_is_skipped",),
    ),
    Mutation(
        mechanism="sweep: lost jobs are enqueued",
        path=_SWEEP,
        old=" if waiting else 0\n",
        new=" if waiting and False else 0\n",
        tests=(f"{_IN_SWEEP}::test_selections_that_redis_lost_are_enqueued_again",),
    ),
    Mutation(
        mechanism="sweep: dead attempts are stopped",
        path=_SWEEP,
        old="        if unwanted := dead + forgotten + _find_pointless(database, queue, settings):\n",
        new="        if unwanted := _find_pointless(database, queue, settings):\n",
        tests=(f"{_IN_CRASHES}::test_a_frozen_work_horse_is_killed_and_its_worker_goes_on",),
    ),
    Mutation(
        mechanism="worker: the sweep at its start",
        path="worker/startup.py",
        old="        sweep(database, queue, settings)\n",
        new="",
        tests=("tests/integration/worker/test_startup.py::test_started_worker_takes_over_the_selection_of_a_dead_one",),
    ),
    Mutation(
        mechanism="worker: a shutdown reaches the job at once",
        path=_PROCESS,
        old="    imminent_shutdown_delay = 0\n",
        new="",
        tests=(f"{_IN_STOPPING}::test_a_deployment_releases_the_selection_without_charging_an_attempt",),
    ),
    Mutation(
        mechanism="worker: the work-horse dies with its parent",
        path=_PROCESS,
        old="        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)\n",
        new="        pass\n",
        tests=(f"{_IN_PROCESS}::test_work_horse_dies_with_its_killed_parent",),
    ),
    Mutation(
        mechanism="worker: runs selections only",
        path=_PROCESS,
        old="        if self.func_name != RUN_SELECTION or self.instance is not None:\n",
        new="        if False:\n",
        tests=(_IN_PROCESS,),
    ),
    Mutation(
        mechanism="worker: a killed work-horse ends its lease",
        path="worker/crash.py",
        old="                    expire_lease(session, claim)\n",
        new="                    pass\n",
        tests=("tests/integration/worker/test_crash.py",),
    ),
    Mutation(
        mechanism="worker: an unfit one stops",
        path=_PROCESS,
        old="            raise StopRequested\n",
        new="            pass\n",
        tests=(
            "tests/e2e/test_worker_devices.py::test_an_unfit_worker_stops_and_its_selections_are_run_by_a_sound_one",
        ),
    ),
    Mutation(
        mechanism="queue: one job for an attempt",
        path=_QUEUE,
        old="            unique=True,\n",
        new="",
        tests=(f"{_IN_SWEEP}::test_second_ring_of_one_attempt_is_swallowed",),
    ),
    Mutation(
        mechanism="queue: a lease to claim",
        path=_QUEUE,
        old="        if taken.set_first_seen(job.id):\n            return True\n",
        new="",
        tests=(f"{_IN_SWEEP}::test_job_that_left_the_queue_has_as_long_as_a_lease_to_claim",),
    ),
    Mutation(
        mechanism="queue: an upload does not wait for Redis",
        path=_QUEUE,
        old="socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 1)",
        new="socket_timeout=30",
        tests=("tests/integration/test_http_limits.py::test_redis_that_hangs_does_not_refuse_a_selection",),
    ),
    Mutation(
        mechanism="database: cut connections are replaced",
        path="app/database.py",
        old="        pool_pre_ping=True,\n",
        new="",
        tests=("tests/integration/test_database.py::test_connection_that_was_cut_while_idle_is_replaced_unseen",),
    ),
    Mutation(
        mechanism="database: a standby counts as away",
        path="app/database.py",
        old='    event.listen(engine, "handle_error", _report_outage)\n',
        new="",
        tests=("tests/integration/test_database.py::test_server_that_only_reads_is_away",),
    ),
    Mutation(
        mechanism="datasets: the lock of a submission",
        path="app/datasets/repository.py",
        old="    return session.scalar(query.with_for_update(read=True, key_share=True)) is not None\n",
        new="    return session.scalar(query) is not None\n",
        tests=("tests/integration/test_dataset_locks.py",),
    ),
    Mutation(
        mechanism="datasets: the lock of a deletion",
        path="app/datasets/repository.py",
        old="    session.execute(select(Dataset.id).where(*named).order_by(Dataset.id).with_for_update())\n",
        new="",
        tests=("tests/integration/test_dataset_locks.py",),
    ),
    Mutation(
        mechanism="storage full: of Postgres",
        path="app/web/error_handlers.py",
        old="    if sqlstate == _DISK_FULL:\n",
        new="    if False:\n",
        tests=("tests/integration/test_storage_full.py",),
    ),
    Mutation(
        mechanism="sweep: a job whose execution has expired",
        path=_QUEUE,
        old="        except ValueError:\n            # RQ lists",
        new="        except ZeroDivisionError:\n            # RQ lists",
        tests=(_IN_SWEEP,),
    ),
    Mutation(
        mechanism="storage full: of an upload",
        path="app/web/error_handlers.py",
        old="    if error.errno in NO_SPACE:\n",
        new="    if False:\n",
        tests=("tests/integration/test_storage_full.py",),
    ),
    Mutation(
        mechanism="idempotency: the lock of a key",
        path="app/selections/idempotency.py",
        old='    if not session.scalar(_HOLD, {"name": f"{request.owner_id}\\n{request.key}"}):\n',
        new="    if False:\n",
        tests=("tests/integration/test_idempotency.py",),
    ),
    Mutation(
        mechanism="uploads: large ones in a process of their own",
        path=_INTAKE,
        old="        if not submission.is_large:\n",
        new="        if True:\n",
        tests=("tests/integration/test_intake.py",),
    ),
    Mutation(
        mechanism="uploads: a place for large ones",
        path="app/selections/admission.py",
        old="            async with self._large_place:\n",
        new="            async with self._places:\n",
        tests=("tests/unit/app/test_admission.py",),
    ),
    Mutation(
        mechanism="uploads: a reader that died is replaced",
        path=_INTAKE,
        old="            if self._reader is not None and not self._reader.is_alive:\n",
        new="            if False:\n",
        tests=("tests/integration/test_intake.py",),
    ),
    Mutation(
        mechanism="uploads: a reader that hangs is killed",
        path=_READER,
        old="        overdue.start()\n",
        new="",
        tests=("tests/integration/test_intake.py",),
    ),
    Mutation(
        mechanism="uploads: the reader ends with the API",
        path=_READER,
        old='    threading.Thread(target=_end_with_parent, name="lens-parent", daemon=True).start()\n',
        new="",
        tests=(f"{_IN_LARGE_UPLOADS}::test_the_reader_ends_when_the_api_is_killed",),
    ),
    Mutation(
        mechanism="uploads: an open quote is an error",
        path="lens_engine/reading/csv_rows.py",
        old="csv.reader(lines, strict=True)",
        new="csv.reader(lines)",
        tests=("tests/unit/lens_engine/reading/test_csv_rows.py",),
    ),
    Mutation(
        mechanism="uploads: a place for each",
        path="app/selections/admission.py",
        old="        if self._num_admitted >= self._most:\n",
        new="        if False:\n",
        tests=("tests/unit/app/test_admission.py",),
    ),
    Mutation(
        mechanism="owners: every read",
        path="app/selections/repository.py",
        old="select(Selection).where(Selection.id == selection_id, Selection.owner_id == owner_id)",
        new="select(Selection).where(Selection.id == selection_id)",
        tests=("tests/integration/test_owners.py",),
    ),
)
