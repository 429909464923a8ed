"""The job function. The service enqueues it by its dotted name."""


def run_selection(selection_id: str) -> bool:
    """Run one selection in a work-horse. Returns False if it was not claimed.

    The imports are local because torch must load after the fork.
    """
    from app.settings import Settings
    from worker.execution import execute_selection

    return execute_selection(selection_id, Settings())
