"""What `lens suggest` prints for a file of a kind that `make test` leaves out."""

from pathlib import Path

import pytest

from tests.e2e.test_files_of_any_kind import FILES, USUAL_FILES, check_pasted_command, folder, model


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind not in USUAL_FILES])
def test_pasted_command_runs_with_the_rows_and_the_cost_that_were_shown(kind: str, model: Path, folder: Path) -> None:
    check_pasted_command(kind, model, folder)
