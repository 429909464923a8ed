"""The job function. The service enqueues it by its dotted name."""


def run_selection(job_id: str) -> bool:
    """Run one job of any kind in a work-horse. The name is that of releases which had selections alone.

    Returns False if it was not claimed.

    The imports are local because torch must load after the fork.
    """
    from app.settings import Settings
    from worker.execution import execute_job

    return execute_job(job_id, Settings())
