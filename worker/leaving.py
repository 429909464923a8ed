"""A process that leaves although Redis does not let it: RQ waits ten minutes for a Redis that is away."""

import logging
import os
import threading
import time
from collections.abc import Callable

LEAVE_SECONDS = 5.0
"""Time for the last words to Redis."""

_LOOK_SECONDS = 0.2
_log = logging.getLogger(__name__)


def leave_soon(is_done: Callable[[], bool] = lambda: True, seconds: float = LEAVE_SECONDS) -> None:
    """End this process some seconds after `is_done`, unless it ends before.

    Call it when nothing is left to write but what Redis forgets by itself.
    """

    def leave() -> None:
        while not is_done():
            time.sleep(_LOOK_SECONDS)
        time.sleep(seconds)
        _log.warning("Redis does not answer; the process ends without a last word", extra={"action": "leave"})
        os._exit(0)

    threading.Thread(target=leave, name="lens-leave", daemon=True).start()


def has_exited(process_id: int) -> bool:
    """Whether a child process has ended; it is not reaped."""
    try:
        return os.waitid(os.P_PID, process_id, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
