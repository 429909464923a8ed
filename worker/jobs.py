"""The dotted name that the service enqueues."""


def run_selection(selection_id: str) -> None:
    """Run one selection to its end, in a work-horse: torch must not be imported before the fork."""
    from app.settings import Settings
    from worker.execution import execute_selection

    execute_selection(selection_id, Settings())
