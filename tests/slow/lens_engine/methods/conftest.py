from tests.unit.lens_engine.methods.conftest import problem, select  # noqa: F401
