"""Models that are held open: opened in a thread, and those that nobody asked for the longest time make room."""

import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from app.errors import Unavailable
from lens_engine.errors import ModelError, OutOfMemory
from lens_engine.model.base import LabelScorer

_REFUSED_SECONDS = 30.0
"""Time for which a model that could not be opened is not tried again."""

_RETRY_SECONDS = "2"

_log = logging.getLogger(__name__)


class ModelKey(NamedTuple):
    """What a classifier says of its model."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that can be asked."""

    scorer: LabelScorer
    num_bytes: int = 0  #: of its weights


class ModelSource:
    """Opens models, by the settings of a process. Its methods raise LensError where a model cannot be opened."""

    def weigh(self, _key: ModelKey) -> int:
        """The least memory that the weights take (bytes), before they are opened."""
        return 0

    def open(self, key: ModelKey) -> Opened:
        raise NotImplementedError

    def free(self) -> None:
        """Give back the memory of models that nothing refers to any more."""


class Models:
    """The models of one process. `most_bytes`: of all weights together; None for no limit."""

    def __init__(self, source: ModelSource, most_bytes: int | None = None) -> None:
        self._source = source
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._opened = OrderedDict[ModelKey, Opened]()
        self._opening = set[ModelKey]()
        self._refused = dict[ModelKey, tuple[ModelError, float]]()
        self._opener = ThreadPoolExecutor(1, "lens-models")
        self.computing = threading.Lock()  #: held while a model computes: what makes room then has no other user

    def find(self, key: ModelKey) -> LabelScorer:
        """The model, if it is open; else its opening begins."""
        with self._lock:
            if (opened := self._opened.get(key)) is not None:
                self._opened.move_to_end(key)
                return opened.scorer
            if (refused := self._refused.get(key)) is not None and time.monotonic() < refused[1]:
                raise refused[0]
            if key not in self._opening:
                self._opening.add(key)
                self._opener.submit(self._open, key)
        detail = f"the model {key.name} is being loaded; repeat the request"
        raise Unavailable(detail, headers={"Retry-After": _RETRY_SECONDS}, code="model-loading")

    @property
    def names(self) -> list[str]:
        """Names of the open models, the one asked last at the end."""
        with self._lock:
            return [key.name for key in self._opened]

    @property
    def _num_bytes(self) -> int:
        return sum(one.num_bytes for one in self._opened.values())

    def close(self) -> None:
        self._opener.shutdown(wait=False, cancel_futures=True)
        for opened in self._opened.values():
            if (close := getattr(opened.scorer, "close", None)) is not None:
                close()

    def _open(self, key: ModelKey) -> None:
        began = time.monotonic()
        try:
            self._make_room(key, self._source.weigh(key))
            opened = self._source.open(key)
            self._make_room(key, opened.num_bytes)
        except Exception as error:  # noqa: BLE001 - it is told to all who ask
            # No client has a part in this message.
            _log.warning("the model %s cannot be opened: %s", key.name, error, extra={"action": "model-refused"})
            told = error if isinstance(error, ModelError) else ModelError(f"the model {key.name} cannot be opened here")
            told.__cause__ = told.__context__ = told.__traceback__ = None  # their frames may hold weights
            with self._lock:
                self._refused[key] = told, time.monotonic() + _REFUSED_SECONDS
        else:
            with self._lock:
                self._opened[key] = opened
            _log.info("the model %s is open after %.1f s", key.name, time.monotonic() - began)
        finally:
            with self._lock:
                self._opening.discard(key)

    def _make_room(self, key: ModelKey, needed: int) -> None:
        """Drop the models that nobody asked for the longest time, until weights of `needed` bytes fit."""
        if self._most_bytes is None:
            return
        if needed > self._most_bytes:
            raise OutOfMemory(
                f"the weights of the model {key.name} take {needed >> 20:,} MiB, and a process that answers at once "
                f"holds {self._most_bytes >> 20:,} MiB; raise LENS_ANSWERS_MEMORY_MIB"
            )
        with self._lock:
            if self._num_bytes + needed <= self._most_bytes:
                return
        with self.computing, self._lock:
            while self._opened and self._num_bytes + needed > self._most_bytes:
                gone, _ = self._opened.popitem(last=False)
                _log.info("the model %s makes room for %s", gone.name, key.name)
        self._source.free()
