"""The factories of the integration ring."""

from tests.integration.conftest import *  # noqa: F403
