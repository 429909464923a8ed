"""`lens serve` does not start where it could not take uploads."""

import sys
from pathlib import Path

import pytest

from lens_cli.application import main
from lens_cli.refusals import EXIT_INVALID


def test_a_folder_for_uploads_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LENS_SPOOL_DIR", str(tmp_path / "missing"))
    monkeypatch.setattr(sys, "argv", ["lens", "serve", "--port", "1"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == EXIT_INVALID
    error = capfd.readouterr().err
    assert "No such file or directory" in error
    assert "LENS_SPOOL_DIR" in error
