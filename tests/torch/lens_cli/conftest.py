from tests.unit.lens_cli.test_exit_codes import lens  # noqa: F401
from tests.unit.lens_cli.test_export_command import result  # noqa: F401
