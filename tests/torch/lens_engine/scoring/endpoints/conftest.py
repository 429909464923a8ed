from tests.unit.lens_engine.scoring.endpoints.conftest import connect, double  # noqa: F401
