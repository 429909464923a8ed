"""The service of the e2e ring."""

from tests.e2e.conftest import lens, port, second_api, service
