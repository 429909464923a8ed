"""Methods by name: the only place that reads `config.method`."""

from collections.abc import Callable, Mapping
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.search.base import Method, Run
from lens_engine.search.lens.method import Lens
from lens_engine.search.random import RandomAndValidation, RandomChoice, ZeroShot

Methods = Mapping[str, Callable[[Run], Method[Any]]]
"""Makes a method for a run, by the method's name."""

METHODS: Methods = {
    "lens": Lens,
    "zero_shot": ZeroShot,
    "random": RandomChoice,
    "random_and_validation": RandomAndValidation,
}


def name_method(config: SelectionConfig) -> str:
    """The name of the method; a caller's configuration may know other names."""
    return config.method


def make_method(run: Run, methods: Methods = METHODS) -> Method[Any]:
    """The method that `run.config.method` names.

    Raises:
        InvalidConfig: `methods` has none of this name.
    """
    name = name_method(run.config)
    if name not in methods:
        raise InvalidConfig(f"method {name!r} is not one of {', '.join(methods)}", field="options.method")
    return methods[name](run)
