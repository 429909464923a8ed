"""Every engine on the workloads of one model."""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from lab.benchmarks.engines.authors import AuthorsEngine, share_cut
from lab.benchmarks.engines.base import Engine, encode
from lab.benchmarks.engines.harness import HarnessEngine, is_installed, tune
from lab.benchmarks.engines.lens import EXECUTORS, LensEngine
from lab.benchmarks.measuring.agreement import largest_delta
from lab.benchmarks.measuring.comparison import compare_engines
from lab.benchmarks.report.records import EngineRun, WorkloadRun
from lab.benchmarks.workloads.models import LoadedModel, ModelFamily
from lab.benchmarks.workloads.work import Work, WorkloadSpec
from lens_engine.errors import ModelError
from lens_engine.local.executors import ExecutorName

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    seconds: float  #: of one repetition of an engine, about
    repetitions: int
    checked_queries: int  #: queries on which log-probabilities are compared, with two prefixes
    largest_batch: int  #: largest batch size that is tried with the harness


class Bench:
    """Workloads on one model, in a number format and, as the reference, in float32."""

    def __init__(self, family: ModelFamily, dtype: torch.dtype, effort: Effort, say: Say) -> None:
        gc.collect()
        self._family, self._effort, self._say = family, effort, say
        self.float32 = family.load(torch.float32)
        self.loaded = self.float32 if dtype == torch.float32 else family.load(dtype)
        self._exact = {engine.name: engine for engine in _lens_engines(self.float32, EXECUTORS, say)}
        # A wrong mask differs from rounding only in float32. In 16 bits an executor may use another kernel.
        self._lens = list(_lens_engines(self.loaded, [name for name in EXECUTORS if name in self._exact], say))

    def run(self, spec: WorkloadSpec, work: Work) -> WorkloadRun:
        self._say(f"{spec.key}: {spec.title}, {self._family.name}")
        engines = [*self._lens, *self._rivals(work)]
        runs = compare_engines(
            engines, work, seconds=self._effort.seconds, repetitions=self._effort.repetitions, say=self._say
        )
        return WorkloadRun(
            key=spec.key,
            title=spec.title,
            model=self._family.name,
            prefixes=len(work.prefixes),
            queries=len(work.queries),
            labels=len(work.label_spans),
            executor=self._lens[0].name,
            matrix_weights=self.loaded.matrix_weights,
            head_weights=self.loaded.head_weights,
            engines=tuple(self._with_deltas(engines, runs, work)),
            share_cut=share_cut(encode(work, self.loaded)),
        )

    def _rivals(self, work: Work) -> Iterator[Engine]:
        if is_installed():
            self._say("  looking for the best batch size of lm-evaluation-harness")
            yield tune(self.loaded, work, self._effort.largest_batch)
        yield AuthorsEngine(self.loaded)
        if self.loaded is not self.float32:
            yield AuthorsEngine(self.float32)

    def _with_deltas(self, engines: Sequence[Engine], runs: Sequence[EngineRun], work: Work) -> Iterator[EngineRun]:
        """The runs, each with the largest difference of its engine from plain in float32."""
        part = work.part(2, self._effort.checked_queries)
        expected = self._exact["plain"].prepare(part)()
        for engine, run in zip(engines, runs, strict=True):
            delta = largest_delta(engine.prepare(part)(), expected)
            exact = delta
            if engine.loaded is not self.float32:
                exact = largest_delta(self._in_float32(engine).prepare(part)(), expected)
            yield run.model_copy(update={"delta": delta, "delta_float32": exact})

    def _in_float32(self, engine: Engine) -> Engine:
        if isinstance(engine, HarnessEngine | AuthorsEngine):
            return replace(engine, loaded=self.float32)
        return self._exact[engine.name]


def _lens_engines(loaded: LoadedModel, executors: Sequence[ExecutorName], say: Say) -> Iterator[LensEngine]:
    """Our executors, without those that are wrong for this model in this number format."""
    for executor in executors:
        try:
            yield LensEngine.over(loaded, executor)
        except ModelError as error:
            say(f"  {loaded.dtype}: {error}")
