"""`lens keys`: create prints the key once, list shows no key, revoke ends one."""

from collections.abc import Callable

import pytest

from app.settings import Settings
from tests.e2e.lens_command import run

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lens(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process: exit code, stdout and stderr."""
    monkeypatch.setenv("LENS_DATABASE_URL", settings.database_url)

    def run_keys(*words: str) -> tuple[int, str, str]:
        done = run(["keys", *words])
        return done.returncode, done.stdout, done.stderr

    return run_keys


def test_life_of_a_key(lens: Run) -> None:
    code, printed, notes = lens("create", "alice", "--name", "laptop", "--expires", "30")
    key, key_id = printed.strip(), notes.split()[0]
    assert (code, len(key), key[:5]) == (0, 69, "lens_")
    _, listed, _ = lens("list")
    assert key not in listed
    assert all(part in listed for part in (key_id, "alice", "laptop", key[:13]))
    code, printed, _ = lens("revoke", key_id)
    assert (code, "is revoked" in printed) == (0, True)
    assert listed.split()[-1] == "-"
    assert lens("list")[1].split()[-1] != "-"


@pytest.mark.parametrize(
    ("owner", "reader"), [("alice", "A key for this owner reads it."), ("local", "This key reads it.")]
)
def test_first_key_of_an_open_service_says_what_it_closes(lens: Run, owner: str, reader: str) -> None:
    notes = lens("create", owner, "--name", "laptop")[2]
    assert "the service asks for a key in every request" in notes
    assert notes.endswith(f"What was submitted without a key belongs to the owner local. {reader}\n")
    assert "first key" not in lens("create", owner, "--name", "phone")[2]


def test_empty_list_says_so(lens: Run) -> None:
    assert lens("list")[1] == "There are no keys.\n"


def test_faults_are_told_in_one_sentence(lens: Run, empty_database: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = "error: there is no key with this id; `lens keys list` shows the ids\n"
    assert lens("revoke", "nothing")[::2] == (2, unknown)
    assert lens("create", "al ice", "--name", "x")[0] == 2
    monkeypatch.setenv("LENS_DATABASE_URL", empty_database.database_url)
    code, _, errors = lens("list")
    assert (code, "run `lens migrate`" in errors) == (1, True)
