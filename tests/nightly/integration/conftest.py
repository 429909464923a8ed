from tests.integration.conftest import *  # noqa: F403
