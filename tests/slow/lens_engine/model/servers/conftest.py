from tests.unit.lens_engine.model.servers.conftest import connect, double  # noqa: F401
