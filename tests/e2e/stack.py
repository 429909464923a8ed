"""The whole service as its users and its operators see it: HTTP in front, Postgres and Redis behind."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from redis import Redis
from sqlalchemy import text

from app.ids import path_of
from app.lifecycle.spec import load_submission
from app.settings import Settings
from app.store.database import Database
from app.store.tables import TERMINAL, Status
from lens_engine.model.base import LabelScorer
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer
from tests.e2e.processes import Process, Worker, start_api, status_at
from tests.e2e.scorers import HELD
from tests.e2e.waiting import until
from tests.moves import MOVES, UNUSED_DATASETS, find_false_moves

IN_THE_FILTER = 2
"""A call of the scorer in the second round of filtering: one checkpoint exists before it."""

IN_THE_SEARCH = 6
"""A call of the scorer in the second iteration of the search: the checkpoint of the first exists before it."""

_numbers = itertools.count()

OPTIONS: dict[str, Any] = {
    "num_demonstrations": 2,
    "rows": {"search": 32, "judging": 16},
    "filtering": {"candidates": 16, "keep": 8, "rounds": 2, "initial_score_size": 4, "max_score_size": 8},
    "search": {
        "validation": 8,
        "sets": 4,
        "beam_width": 2,
        "children": 3,
        "iterations": 3,
        "first_permutations": None,
        "halvings": 0,
        "forms": ["fixed"],
    },
    "classifier": {"kind": "label_probabilities"},
}
"""A selection of 10 calls of the scorer, the search being calls 5 to 7."""

EXAMPLES = [
    {"text": f"message {row} about {'joy' if row % 2 else 'grief'}", "label": "good" if row % 2 else "bad"}
    for row in range(160)
]


def make_submission(**spec: Any) -> dict[str, Any]:
    """The body of a POST."""
    values = {
        "template": "{text} It was {label}.",
        "verbalizer": {"good": "great", "bad": "terrible"},
        "preset": "quick",
        "options": OPTIONS,
        "model": HELD,
    }
    return {"spec": {**values, **spec}, "examples": EXAMPLES}


@dataclass
class Stack:
    """A running API over its own servers, and the means to look behind it."""

    settings: Settings
    environment: Mapping[str, str]
    database: Database
    redis: Redis
    client: httpx.Client
    log_dir: Path
    log_of_postgres: Path
    hold_path: Path
    model_dir: Path  #: where the model `tiny` is looked for
    answers_port: int  #: where the API asks models, if `start_answers` was called
    workers: list[Worker] = field(default_factory=list)
    others: list[Process] = field(default_factory=list)
    warm: Worker | None = None  #: left running by earlier tests, and used by those that kill nothing
    api: Process | None = None

    # What a client does.

    def submit(self, model: str = HELD, **spec: Any) -> str:
        """POST a selection; its id."""
        response = self.client.post("/selections", json=make_submission(model=model, **spec))
        assert response.status_code == 202, response.text
        return str(response.json()["id"])

    def get(self, job_id: str) -> dict[str, Any]:
        """A selection."""
        response = self.client.get(path_of(job_id))
        assert response.status_code == 200, response.text
        job: dict[str, Any] = response.json()
        return job

    def cancel(self, selection_id: str) -> None:
        response = self.client.post(f"/selections/{selection_id}/cancel")
        assert response.status_code == 202, response.text

    def wait_for(self, selection_id: str, *statuses: Status, seconds: float = 45.0) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            selection = self.get(selection_id)
            return selection if selection["status"] in statuses else None

        try:
            return until(reached, f"{selection_id} becomes {', '.join(statuses)}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.get(selection_id)}\n{self.logs()}") from error

    def wait_until_done(self, selection_id: str, seconds: float = 45.0) -> dict[str, Any]:
        return self.wait_for(selection_id, *TERMINAL, seconds=seconds)

    # What an operator does.

    def warm_worker(self) -> None:
        """See that a worker runs, for a test that neither kills it nor reads its log; often that of the test before."""
        if self.warm is None or self.warm.exit_status is not None:
            self.warm = self.start_worker()
            self.workers.remove(self.warm)

    def cool(self) -> None:
        """End the warm worker, so that it takes nothing from the workers of a test, and is not listed beside them."""
        if self.warm is not None:
            self.warm.stop()
            self.warm = None
            for key in list(self.redis.scan_iter("rq:worker*")):
                self.redis.delete(key)

    def start_worker(self, module: str = "worker", **environment: str) -> Worker:
        """Start a worker of the test's own. Each may be killed and frozen."""
        self.cool()
        log_path = self.log_dir / f"worker-{next(_numbers)}.log"
        worker = Worker("worker", ["-m", module], {**self.environment, **environment}, log_path)
        self.workers.append(worker)
        return worker

    def start_answers(self) -> None:
        """Start what answers at once, and wait until it is ready."""
        arguments = ["-m", "worker.answering", "127.0.0.1", str(self.answers_port)]
        answers = Process("answers", arguments, self.environment, self.log_dir / "answers.log")
        self.others.append(answers)
        until(lambda: answers.exit_status is not None or status_at(self.answers_port, "/healthz") == 200, "it answers")
        assert answers.exit_status is None, answers.log()

    def start_api(self) -> None:
        """Start the API where the client looks for it, and wait until it is ready."""
        self.api = start_api(self.environment, self.client.base_url.port or 0, self.log_dir / "api.log")

    def stop_api(self) -> None:
        """kill -9."""
        if self.api is not None:
            self.api.stop()

    def hold_from(self, call: int) -> None:
        """Have every run wait before this call of its scorer, until `let_go`."""
        scratch = self.hold_path.with_suffix(".new")
        scratch.write_text(str(call))
        scratch.replace(self.hold_path)

    def hold_in_the_search(self) -> tuple[Worker, str]:
        """A worker of the test's own, and the selection that it is held in."""
        self.hold_from(IN_THE_SEARCH)
        worker, selection_id = self.start_worker(), self.submit()
        self.wait_for_checkpoint(selection_id)
        return worker, selection_id

    def let_go(self) -> None:
        self.hold_path.unlink(missing_ok=True)

    def logs(self) -> str:
        running = [*self.workers, *([] if self.warm is None else [self.warm])]
        return "\n".join(f"--- worker {worker.pid}\n{worker.log()}" for worker in running)

    # What is behind.

    def scalar(self, statement: str, **values: object) -> Any:
        with self.database.session_scope() as session:
            return session.execute(text(statement), values).scalar()

    def wait_for_checkpoint(self, selection_id: str, phase: str = "search", seconds: float = 45.0) -> int:
        """The attempt that wrote a checkpoint of `phase`."""
        query = "SELECT attempt FROM checkpoints WHERE job_id = :id AND phase = :phase"
        try:
            what = f"a checkpoint of {phase}"
            attempt: int = until(lambda: self.scalar(query, id=selection_id, phase=phase), what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.get(selection_id)}\n{self.logs()}") from error
        return attempt

    def attempt(self, selection_id: str) -> int:
        value: int = self.scalar("SELECT attempt FROM jobs WHERE id = :id", id=selection_id)
        return value

    def crashes(self, selection_id: str) -> int:
        value: int = self.scalar("SELECT crashes FROM jobs WHERE id = :id", id=selection_id)
        return value

    def undisturbed_digest(self, selection_id: str, scorer: LabelScorer | None = None) -> str:
        """What the selection's run gives when nothing happens to it; without `scorer`, by the double."""
        with self.database.session_scope() as session:
            submission = load_submission(session, selection_id)
        task, alternatives = submission.spec.wordings
        problem = Problem(task, submission.examples, submission.test, alternatives)
        return select_support_examples(problem, scorer or TableScorer(name=HELD), submission.spec.config).digest

    def check_undisturbed(self, selection_id: str, *, attempt: int, crashes: int) -> None:
        """That a selection ends as if nothing had happened to it, in this attempt."""
        selection = self.wait_until_done(selection_id)
        assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, attempt)
        assert selection["digest"] == self.undisturbed_digest(selection_id)
        assert self.crashes(selection_id) == crashes
        self.check_invariants()

    def check_invariants(self) -> None:
        """What must hold of every selection after every fault."""
        with self.database.session_scope() as session:
            endings = session.execute(text(_ENDINGS)).all()
            moves = session.execute(text(MOVES)).all()
            unused = session.execute(text(UNUSED_DATASETS)).scalars().all()
        for ending in endings:
            assert ending.status in TERMINAL, f"{ending.id} is {ending.status}"
            assert ending.lease_until is None, f"{ending.id} has ended and keeps a lease"
            may_go_on = ending.status == Status.CANCELLED
            assert ending.num_checkpoints == 0 or may_go_on, f"{ending.id} has ended and keeps a checkpoint"
            assert ending.has_report == ending.has_examples, ending.id
            assert ending.has_report or ending.status != Status.SUCCEEDED, ending.id
            assert (ending.error is not None) == (ending.status == Status.FAILED), ending.id
        for id_, path in itertools.groupby(moves, key=lambda move: move.job_id):
            assert find_false_moves((before, after, attempt) for _, before, after, attempt in path) == [], id_
        assert not unused, "datasets of no selection"


_ENDINGS = """
SELECT id, status, lease_until, error,
       EXISTS (SELECT FROM reports WHERE job_id = id) AS has_report,
       EXISTS (SELECT FROM reports WHERE job_id = id
               AND result -> 'support_examples' <> '[]') AS has_examples,
       (SELECT count(*) FROM checkpoints WHERE job_id = id) AS num_checkpoints
FROM jobs
"""


def environment_of(values: Mapping[str, object]) -> dict[str, str]:
    """Settings as the variables that a process reads them from."""
    return {
        f"LENS_{name.upper()}": json.dumps(value) if value is None or isinstance(value, dict | bool) else str(value)
        for name, value in values.items()
    }
