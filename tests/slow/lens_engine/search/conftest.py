from tests.unit.lens_engine.search.conftest import select  # noqa: F401
