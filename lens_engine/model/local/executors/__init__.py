"""Executors run prompts through a causal language model; all give the same numbers, up to rounding."""

from lens_engine.model.local.executors.base import Executor, ExecutorName, TokenCounters, Workload
from lens_engine.model.local.executors.packed import PackedExecutor, WindowedExecutor
from lens_engine.model.local.executors.rows import CachedExecutor, PlainExecutor

__all__ = [
    "CachedExecutor",
    "Executor",
    "ExecutorName",
    "PackedExecutor",
    "PlainExecutor",
    "TokenCounters",
    "WindowedExecutor",
    "Workload",
]
