from tests.slow.lens_engine.run.test_estimator import make  # noqa: F401
