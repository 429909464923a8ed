from tests.slow.lens_engine.estimator.test_estimator import make  # noqa: F401
