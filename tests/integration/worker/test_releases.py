"""Releases that Postgres did not take."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from app.lifecycle.claims import Claim
from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import Selections, run_sql
from worker.releases import give_back, hand_in_releases, note_release

UNREACHABLE = "postgresql+psycopg://lens@/lens?host=/nonexistent"


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    """Settings with a cache folder of their own."""
    return settings.model_copy(update={"cache_dir": tmp_path})


def notes(own: Settings) -> list[str]:
    assert own.cache_dir is not None
    return [path.name for path in (own.cache_dir / "releases").rglob("*.json")]


def test_noted_release_is_handed_in_without_a_crash(selections: Selections, own: Settings, database: Database) -> None:
    claim = selections.running()

    assert note_release(own, claim)
    assert notes(own) == [f"{claim.job_id}-{claim.attempt}.json"]
    hand_in_releases(own)

    assert selections.status_of(claim.job_id) == "queued"
    assert run_sql(database, "SELECT crashes FROM jobs") == 0
    assert notes(own) == []


def test_job_is_given_back_in_postgres_while_it_answers(
    selections: Selections, own: Settings, database: Database
) -> None:
    claim = selections.running()
    give_back(own, claim)
    assert selections.status_of(claim.job_id) == "queued"
    assert run_sql(database, "SELECT crashes FROM jobs") == 0
    assert notes(own) == []


def test_release_that_another_attempt_overtook_changes_nothing(selections: Selections, own: Settings) -> None:
    claim = selections.running()

    note_release(own, Claim(claim.job_id, claim.attempt, "an earlier holder"))
    hand_in_releases(own)

    assert selections.status_of(claim.job_id) == "running"
    assert notes(own) == []


def test_notes_wait_while_postgres_is_away(own: Settings, caplog: pytest.LogCaptureFixture) -> None:
    own = own.model_copy(update={"database_url": UNREACHABLE})
    note_release(own, Claim("sel_1", 1, "holder"))

    hand_in_releases(own, patience_seconds=0.1)

    assert notes(own) == ["sel_1-1.json"]
    assert "noted releases wait for the next start" in caplog.text


@pytest.mark.parametrize("change", [{"query": {"host": "/nonexistent"}}, {"database": "another"}], ids=["host", "name"])
def test_note_of_another_database_is_left_alone(
    selections: Selections, own: Settings, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    claim = selections.running()
    note_release(own, claim)

    other = make_url(own.database_url).set(**change).render_as_string(hide_password=False)
    hand_in_releases(own.model_copy(update={"database_url": other}), patience_seconds=0.1)
    assert caplog.text == ""
    assert len(notes(own)) == 1

    hand_in_releases(own)
    assert selections.status_of(claim.job_id) == "queued"


def test_note_is_found_by_another_password_and_another_link_to_the_socket(own: Settings, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("first", "second"):
        (tmp_path / name).symlink_to(tmp_path / "data")
        address = f"postgresql+psycopg://lens:{name}@/lens?host={tmp_path / name}"
        note_release(own.model_copy(update={"database_url": address}), Claim("sel_1", 1, "holder"))
    assert len(notes(own)) == 1


def test_notes_wait_for_the_schema(empty_database: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = empty_database.model_copy(update={"cache_dir": tmp_path})
    note_release(own, Claim("sel_1", 1, "holder"))

    hand_in_releases(own)

    assert notes(own) == ["sel_1-1.json"]
    assert "lacks the schema" in caplog.text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"job": 1}', b"\xff"])
def test_note_that_cannot_be_read_is_dropped(own: Settings, content: bytes) -> None:
    note_release(own, Claim("sel_1", 1, "holder"))
    assert own.cache_dir is not None
    (note,) = (own.cache_dir / "releases").rglob("sel_1-1.json")
    note.write_bytes(content)

    hand_in_releases(own)

    assert notes(own) == []


def test_full_disk_is_told(own: Settings, tmp_path: Path) -> None:
    (tmp_path / "releases").write_bytes(b"a file where the folder would be")

    assert not note_release(own, Claim("sel_1", 1, "holder"))
