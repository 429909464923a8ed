from tests.unit.lens_engine.conftest import *  # noqa: F403
