"""Executors run prompts through a causal language model; all give the same numbers, up to rounding."""

from lens_engine.model.local.executors.base import Executor as Executor
from lens_engine.model.local.executors.base import ExecutorName as ExecutorName
from lens_engine.model.local.executors.base import TokenCounters as TokenCounters
from lens_engine.model.local.executors.base import Workload as Workload
from lens_engine.model.local.executors.packed import PackedExecutor as PackedExecutor
from lens_engine.model.local.executors.packed import WindowedExecutor as WindowedExecutor
from lens_engine.model.local.executors.rows import CachedExecutor as CachedExecutor
from lens_engine.model.local.executors.rows import PlainExecutor as PlainExecutor
