"""The fuzz run notices what is half-stored or lost."""

from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import text

from app.database import Database
from app.settings import Settings
from tests.e2e.processes import Process
from tests.fuzz.population import Population
from tests.fuzz.service import Service
from tests.integration.conftest import Selections


@pytest.fixture
def population(settings: Settings, database: Database, tmp_path: Path, selections: Selections) -> Population:
    """It knows of one selection, of the owner `ada`."""
    found = Population(Service(settings, "", database, cast(Process, None), tmp_path))
    selection: dict[str, Any] = selections.client.get(f"/selections/{selections.queued()}").json()
    run(database, "UPDATE selections SET owner_id = 'ada'")
    found.note_accepted("ada", selection, is_replayed=False)
    assert found.find_faults() == []
    return found


def run(database: Database, statement: str) -> None:
    with database.session_scope() as session:
        session.execute(text(statement))


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM selections", "acknowledged, not deleted, and gone"),
        ("DELETE FROM examples WHERE row = 0", "datasets with rows missing"),
        ("UPDATE selections SET owner_id = 'eve'", "selections of nobody"),
    ],
)
def test_damage_is_a_fault(population: Population, database: Database, statement: str, fault: str) -> None:
    run(database, statement)
    assert any(found.startswith(fault) for found in population.find_faults())


def test_selection_without_an_acknowledgement_is_a_fault(population: Population, selections: Selections) -> None:
    selections.queued()
    assert any(found.startswith("stored without") for found in population.find_faults())
