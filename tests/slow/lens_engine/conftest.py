"""The factories of the engine's unit tests."""

from tests.unit.lens_engine.conftest import *  # noqa: F403
