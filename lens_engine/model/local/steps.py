"""What opening a model does, in words, for whoever waits: lines of this module's logger, from INFO on.

Nobody is told where the program does not listen to the logger. The command `lens` shows the lines on stderr, and the
service writes them to its log. Does not import torch.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path

PATIENCE_SECONDS = 2.0
"""A step is mentioned when it has taken so long."""

_CONVERSION_SECONDS, _CONVERSION_BYTES_PER_SECOND = 10.0, 6e6
"""Measured on files of 92 to 491 MB in 4 bits, on two cores of a laptop."""

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


def mention_conversion(file: Path, folder: Path) -> None:
    """Mention at once that a GGUF file will be converted, which takes half a minute and more.

    Args:
        folder: where the converted weights are kept.
    """
    num_bytes = file.stat().st_size
    seconds = _CONVERSION_SECONDS + num_bytes / _CONVERSION_BYTES_PER_SECOND
    _log.info(
        f"reading {file.name} ({_show_size(num_bytes)}) and converting it to safetensors, which is done once and takes "
        f"about {10 * max(1, round(seconds / 10))} s; the result is kept in {folder}, and the next start takes seconds"
    )


def digesting(files: Sequence[Path]) -> str:
    """What is said of the reading of a model's files for their SHA-256."""
    what = files[0].name if len(files) == 1 else f"{len(files)} files of {files[0].parent.name}"
    size = _show_size(sum(file.stat().st_size for file in files))
    return f"reading {what} ({size}) for the SHA-256 that names these weights, which is done once"


def downloading(reference: str) -> str:
    """What is said of the download of a model."""
    return f"downloading {reference} from the Hugging Face hub into its cache, which is done once"


def loading(name: str, *, is_known: bool) -> str:
    """What is said of the reading of weights. A model that is not known on this machine is tried."""
    if is_known:
        return f"loading the weights of {name}"
    return (
        f"loading the weights of {name}, and trying it on a few random prompts to find the fastest way to run it that "
        "is right; the outcome is kept for the next start"
    )


def _show_size(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{max(1, round(num_bytes / 1e6))} MB"
