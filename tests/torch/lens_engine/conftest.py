"""The factories of the engine's unit tests."""

from tests.unit.lens_engine.conftest import (  # noqa: F401
    make_config,
    make_examples,
    make_listener,
    make_meter,
    make_planted_problem,
    make_planted_scorer,
    make_store,
    make_task,
    task,
)
