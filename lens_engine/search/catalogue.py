"""Methods by name: the only place that reads `config.method`."""

from collections.abc import Callable, Mapping
from typing import Any

from lens_engine.config import MethodName, SelectionConfig
from lens_engine.search.base import Method, Run
from lens_engine.search.lens.method import Lens
from lens_engine.search.random import RandomAndValidation, RandomChoice, ZeroShot

METHODS: Mapping[MethodName, Callable[[Run], Method[Any]]] = {
    "lens": Lens,
    "zero_shot": ZeroShot,
    "random": RandomChoice,
    "random_and_validation": RandomAndValidation,
}


def name_method(config: SelectionConfig) -> MethodName:
    return config.method


def make_method(run: Run) -> Method[Any]:
    """The method that the configuration names."""
    return METHODS[name_method(run.config)](run)
