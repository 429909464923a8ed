"""What opening a model does, in words, for whoever waits: lines of this module's logger, from INFO on.

Nobody is told where the program does not listen to the logger. The command `lens` shows the lines on stderr, and the
service writes them to its log. Does not import torch.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context

PATIENCE_SECONDS = 2.0
"""A step is mentioned when it has taken so long."""

_log = logging.getLogger(__name__)


@contextmanager
def mentioned_if_slow(what: str) -> Iterator[None]:
    """A context that is mentioned as soon as it has taken `PATIENCE_SECONDS`."""
    # The fields of a log line, such as the number of the job, belong to the context of this thread.
    timer = threading.Timer(PATIENCE_SECONDS, copy_context().run, [_log.info, what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def mention(what: str) -> None:
    """Mention a step at once."""
    _log.info(what)
