"""What the opening of a model says, on stderr."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STEPS = "lens_engine.local.steps"


class _OnStderr(logging.Handler):
    """Writes to what stderr is now: while a bar is shown, that is a proxy which writes above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"{record.getMessage()}\n")


@contextmanager
def steps_on_stderr() -> Iterator[None]:
    """A context in which a line on stderr says what takes long while a model is opened."""
    logger, handler = logging.getLogger(_STEPS), _OnStderr()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
