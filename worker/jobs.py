"""The job function. The service enqueues it by its dotted name."""


def run_job(_job_id: str) -> bool:
    """Run the job whose turn it is, of any kind, in a work-horse. Returns False if none waits for this worker.

    The job that was enqueued has its own turn: see `app.lifecycle.turns`. The imports are local because torch must load
    after the fork.
    """
    from app.settings import Settings
    from worker.execution import execute_next

    return execute_next(Settings())
