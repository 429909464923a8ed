"""Methods by name: the only place that reads `config.method`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from lens_engine.config import CORESET_METHODS, MethodName
from lens_engine.methods.base import Method, Run
from lens_engine.methods.coreset.method import Coreset
from lens_engine.methods.lens.method import Lens
from lens_engine.methods.random import RandomAndValidation, RandomChoice, ZeroShot

METHODS: dict[MethodName, Callable[[Run], Method[Any]]] = {
    "lens": Lens,
    "zero_shot": ZeroShot,
    "random": RandomChoice,
    "random_and_validation": RandomAndValidation,
    **{name: partial(Coreset, name=name) for name in CORESET_METHODS},
}


def make_method(run: Run) -> Method[Any]:
    """The method that `run.config.method` names."""
    return METHODS[run.config.method](run)
