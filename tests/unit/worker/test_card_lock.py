"""The lock of a card, in one process; tests/e2e/test_worker_devices.py has two."""

import os
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.settings import Settings
from tests.unit.worker.test_inspection import H200
from worker.card_lock import default_lock_dir, holding_card
from worker.device import Device, UnfitWorker


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(lock_dir=tmp_path / "locks")


def test_card_is_held_once(settings: Settings) -> None:
    with holding_card(H200, settings), pytest.raises(UnfitWorker, match="LENS_SHARE_DEVICE=1"), ExitStack() as second:
        second.enter_context(holding_card(H200, settings))


def test_card_is_free_after_the_block(settings: Settings) -> None:
    for _ in range(2):
        with holding_card(H200, settings):
            pass


def test_processor_is_not_held(settings: Settings) -> None:
    processor = Device("cpu", "A processor")

    with holding_card(processor, settings), holding_card(processor, settings):
        assert settings.lock_dir is not None
        assert not settings.lock_dir.exists()


def test_lock_can_be_seen_by_workers_of_other_users(settings: Settings) -> None:
    assert settings.lock_dir is not None
    before = os.umask(0o077)
    try:
        with holding_card(H200, settings):
            [file] = settings.lock_dir.iterdir()
    finally:
        os.umask(before)

    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_deleted_file_of_a_lock_is_made_again(settings: Settings) -> None:
    assert settings.lock_dir is not None
    with holding_card(H200, settings):
        [file] = settings.lock_dir.iterdir()
        file.unlink()
    with holding_card(H200, settings):
        assert [found.name for found in settings.lock_dir.iterdir()] == [file.name] == ["lens-card-GPU-1.lock"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission_names_the_setting(settings: Settings, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UnfitWorker, match="set LENS_LOCK_DIR to another folder"), ExitStack() as stack:
            stack.enter_context(holding_card(H200, settings))
    finally:
        tmp_path.chmod(0o700)


def test_folder_that_is_a_file_names_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(UnfitWorker, match="set LENS_LOCK_DIR to another folder"), ExitStack() as stack:
        stack.enter_context(holding_card(H200, Settings(lock_dir=file)))


def test_default_folder_can_be_written() -> None:
    assert os.access(default_lock_dir(), os.W_OK)
