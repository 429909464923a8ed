from tests.unit.lens_engine.search.conftest import problem, select  # noqa: F401
