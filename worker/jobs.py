"""The job function. The service enqueues it by its dotted name."""


def run_job(_job_id: str) -> bool:
    """Run the next job in a work-horse. Returns False if none waits for this worker.

    It may be another one than was enqueued: see `app.lifecycle.claims`. The imports are local because torch must
    load after the fork.
    """
    from app.lifecycle.claims import claim_next
    from app.settings import Settings
    from worker.execution import claim_and_execute

    settings = Settings()
    return claim_and_execute(settings, lambda session: claim_next(session, settings))
