"""Selections of both owners in every state, for requests to meet."""

import random
from dataclasses import dataclass, field
from typing import Any

import requests
from sqlalchemy import text

from app.lifecycle import claims
from tests.fuzz.service import OWNERS, Service, key_of
from tests.integration.samples import make_result, make_submission

STATES = ("queued", "running", "succeeded", "failed", "cancelled")


@dataclass
class Population:
    """What each owner has, as the answers of the service said."""

    service: Service
    ids: dict[str, set[str]] = field(default_factory=lambda: {owner: set() for owner in OWNERS})  #: all ever shown
    stored: set[str] = field(default_factory=set)  #: acknowledged selections that were not deleted
    seeded: set[str] = field(default_factory=set)  #: those that `refill` brought into a state
    accepted: int = 0

    def refill(self) -> None:
        """Give each owner one more selection in each state."""
        for owner in OWNERS:
            for state in STATES:
                selection = self._post(owner, "/selections", make_submission())
                self.note_accepted(owner, selection, is_replayed=False)
                self._bring_into(state, owner, selection["id"])
                self.seeded.add(selection["id"])

    def note_accepted(self, owner: str, selection: dict[str, Any], is_replayed: bool) -> None:
        self.ids[owner] |= {selection["id"], selection["dataset_id"], selection["test_dataset_id"]} - {None}
        if not is_replayed:
            self.accepted += 1
            self.stored.add(selection["id"])

    def note_deleted(self, selection_id: str) -> None:
        self.stored.discard(selection_id)

    def foreign_to(self, owner: str | None) -> set[str]:
        return set().union(*(ids for other, ids in self.ids.items() if other != owner))

    def draw_id(self, draw: random.Random, owner: str | None = None) -> str:
        """The id of a selection, mostly one of `owner`; half of them in a known state, the others the newest."""
        whose = owner if owner is not None and draw.random() < 0.7 else draw.choice(OWNERS)
        living = self.seeded if draw.random() < 0.5 else self.stored
        found = sorted(living & self.stored & self.ids[whose])[-20:]
        return draw.choice(found or ["sel_" + "0" * 26])

    def draw_dataset_id(self, draw: random.Random) -> str:
        return draw.choice(sorted(one for ids in self.ids.values() for one in ids if one.startswith("ds_"))[-40:])

    def find_faults(self) -> list[str]:
        """Compare the tables with what was acknowledged: nothing is half-stored, and nothing is lost."""
        with self.service.database.session_scope() as session:
            rows = set(session.scalars(text("SELECT id FROM selections")).all())
            keyed = set(session.scalars(text("SELECT selection_id FROM idempotency_keys")).all())
            found = {name: list(session.scalars(text(query)).all()) for name, query in _HALVES.items()}
        found["answers kept for keys of unknown selections"] = sorted(keyed.difference(*self.ids.values()))
        faults = [f"{name}: {ids[:3]}" for name, ids in found.items() if ids]
        if rows - self.stored:
            faults.append(f"stored without an acknowledgement: {sorted(rows - self.stored)[:3]}")
        if self.stored - rows:
            faults.append(f"acknowledged, not deleted, and gone: {sorted(self.stored - rows)[:3]}")
        return faults

    def _bring_into(self, state: str, owner: str, selection_id: str) -> None:
        if state == "cancelled":
            self._post(owner, f"/selections/{selection_id}/cancel")
        elif state != "queued":
            with self.service.database.session_scope() as session:
                claim = claims.claim_selection(session, selection_id, 86_400)
                assert claim is not None
                if state == "succeeded":
                    claims.finish(session, claim, make_result())
                elif state == "failed":
                    claims.fail(session, claim, {"type": "https://lens.example/problems/non-finite"})

    def _post(self, owner: str, path: str, body: object = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key_of(owner)}"}
        answer = requests.post(f"{self.service.address}{path}", json=body, headers=headers, timeout=60)
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found


_HALVES = {
    "datasets that no selection names": "SELECT id FROM datasets WHERE id NOT IN (SELECT dataset_id FROM selections) "
    "AND id NOT IN (SELECT test_dataset_id FROM selections WHERE test_dataset_id IS NOT NULL)",
    "datasets with rows missing": "SELECT id FROM datasets WHERE num_rows <> "
    "(SELECT count(*) FROM examples WHERE dataset_id = datasets.id)",
    "rows without a dataset": "SELECT dataset_id FROM examples WHERE dataset_id NOT IN (SELECT id FROM datasets)",
    "selections of nobody": "SELECT id FROM selections WHERE owner_id NOT IN ('ada', 'ben')",
}
