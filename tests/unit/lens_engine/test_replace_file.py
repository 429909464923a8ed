from pathlib import Path

import pytest

from lens_engine.disk import replace_file


def test_content_replaces_the_old_file_if_there_is_one_and_leaves_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "state.bin"

    for content in (b"old", b"new"):
        replace_file(path, content)
        assert path.read_bytes() == content

    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_keeps_the_old_file_and_leaves_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "state.bin"
    path.write_bytes(b"old")

    with pytest.raises(TypeError):
        replace_file(path, "text instead of bytes")  # type: ignore[arg-type]

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_rename_leaves_no_scratch(tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()

    with pytest.raises(OSError, match="taken"):
        replace_file(folder, b"new")

    assert list(tmp_path.iterdir()) == [folder]


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing" / "state.bin", b"new")
