from tests.unit.lens_engine.servers.conftest import connect, double  # noqa: F401
